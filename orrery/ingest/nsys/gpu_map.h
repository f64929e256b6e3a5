#pragma once

#include <cstdint>
#include <map>
#include <utility>

#include "orrery/ingest/nsys/export_context.h"
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
    std::int64_t id = 0;
    std::int64_t cuda_device = -1;  // its number when all devices are visible
    std::string name = {};
    std::int64_t memory_bytes = -1;
    std::int32_t multiprocessors = -1;
    std::int32_t compute_major = -1;
    std::int32_t compute_minor = -1;
    std::string extra = {};
  };

  void ReadGpus(ExportContext& context);
  void ReadCudaDevices(ExportContext& context);
  void AppendDevice(RankBuilder& rank, const Gpu& gpu, std::int32_t id) const;
  [[nodiscard]] std::int64_t GpuOf(const RankBuilder& rank) const;

  std::map<std::int64_t, Gpu> gpus_;
  // By process number and the process's own device number.
  std::map<std::pair<std::int64_t, std::int32_t>, std::int64_t> gpu_of_device_;
};

/// Reads the samples of GPU_METRICS as counters. Their names come from TARGET_INFO_GPU_METRICS by
/// (typeId, metricId), because a metric's number differs between GPUs and versions. The lowest
/// eight bits of typeId are the GPU; samples of a GPU that no rank works on go to the first rank.
void ReadGpuMetrics(ExportContext& context, RankSet& ranks, const GpuMap& gpus);

}  // namespace orrery::ingest::nsys
