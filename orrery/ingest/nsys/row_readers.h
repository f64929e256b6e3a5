#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/ingest/nsys/export_context.h"
#include "orrery/ingest/nsys/rank_set.h"
#include "orrery/trace/enums.h"

namespace orrery::ingest::nsys {

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
