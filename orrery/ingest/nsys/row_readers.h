#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/ingest/json/json_text.h"
#include "orrery/ingest/nsys/rank_set.h"

namespace orrery::ingest::nsys {

/// The GPUs of the machine and their numbers in each process. Activities number devices as their
/// process sees them (CUDA_VISIBLE_DEVICES), target information and metrics as the machine does;
/// TARGET_INFO_CUDA_DEVICE translates where the export has it.
class GpuMap {
 public:
  explicit GpuMap(ExportContext& context);

  /// Writes the devices that the rank's process can use, under its own numbers.
  void FillDevices(RankBuilder& rank) const;

  /// Returns the rank that works on a GPU of the machine, or null.
  [[nodiscard]] RankBuilder* FindRank(const RankSet& ranks, std::int64_t gpu) const;

 private:
  struct Gpu {
    std::int64_t cuda_device = -1;  // its number when all devices are visible
    trace::Devices::Row device = {};
    std::string name = {};
    std::string extra = {};
  };

  static void AppendDevice(RankBuilder& rank, const Gpu& gpu, std::int32_t id);
  [[nodiscard]] std::int64_t GpuOf(const RankBuilder& rank) const;

  std::map<std::int64_t, Gpu> gpus_;
  // By process number and the process's own device number.
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> gpu_of_device_;
};

/// Reads the samples of GPU_METRICS as counters. Their names come from TARGET_INFO_GPU_METRICS by
/// (typeId, metricId), because a metric's number differs between GPUs and versions. The lowest
/// eight bits of typeId are the GPU; a GPU without a rank has its samples in the first rank.
void ReadGpuMetrics(ExportContext& context, RankSet& ranks, const GpuMap& gpus);

/// Adds the columns of a row that are not missing, under these names.
inline void AddIntegers(const TableScan& row,
                        std::initializer_list<std::pair<std::string_view, std::size_t>> columns,
                        JsonFields& extra) {
  for (const auto& [name, column] : columns) {
    if (!row.IsMissing(column)) {
      extra.Add(name, row.Integer(column, -1));
    }
  }
}

/// The name of a call without its ABI version: "cudaLaunchKernel_v7000" is
/// "cudaLaunchKernel".
[[nodiscard]] std::string_view WithoutInterfaceVersion(std::string_view call);

/// Determines from the name which library a call belongs to.
[[nodiscard]] trace::ApiKind ApiOfName(std::string_view call);

/// Reads runtime and driver calls.
void ReadRuntimeCalls(ExportContext& context, RankSet& ranks);

/// Reads every table of host slices that has no table in a trace (profiler overhead, operating
/// system, cuBLAS, MPI …): any that has begin, end, thread and name and has not been read.
void ReadOtherSlices(ExportContext& context, RankSet& ranks);

/// Reads allocations and frees of device memory.
void ReadMemoryEvents(ExportContext& context, RankSet& ranks);

/// Reads kernels, memcpys, memsets and whole graphs into the activities of their ranks.
void ReadDeviceRows(ExportContext& context, RankSet& ranks);

/// Reads NVTX: ranges become annotations, those that PyTorch's `emit_nvtx` wrote become host
/// operators, marks become instants, and calls of NCCL are kept for the collectives as well. Ranges
/// that are still open end with the last row that was read. Must come after all other rows.
void ReadNvtxRows(ExportContext& context, RankSet& ranks);

/// An event recorded on a stream; a later wait refers to it by `sync_id`.
struct EventRecord {
  ProcessKey process = kUnknownProcess;
  std::int64_t time_ns = 0;  // meaningless without has_time
  bool has_time = false;
  std::int64_t context = -1;
  std::int64_t stream = -1;
  std::int64_t correlation = -1;
  std::int64_t event = -1;
  std::int64_t sync_id = -1;
};

/// Reads synchronizations, each joined with its event record, and returns the records. Notes the
/// rank of their calls, so it must come before the runtime calls.
[[nodiscard]] std::vector<EventRecord> ReadSyncRows(ExportContext& context, RankSet& ranks);

/// Writes the records; those without a time get that of their call, so this must come after the
/// runtime calls.
void AppendEventRecords(ExportContext& context, RankSet& ranks, std::vector<EventRecord> records);

}  // namespace orrery::ingest::nsys
