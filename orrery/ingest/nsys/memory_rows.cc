#include "orrery/ingest/nsys/memory_rows.h"

#include <algorithm>
#include <array>

#include "orrery/ingest/nsys/json_fields.h"

namespace orrery::ingest::nsys {
namespace {

constexpr std::string_view kMemoryTable = "CUDA_GPU_MEMORY_USAGE_EVENTS";

enum MemoryColumn : std::size_t {
  kMemoryStart,
  kMemoryProcess,
  kMemoryDevice,
  kMemoryContext,
  kMemoryAddress,
  kMemoryBytes,
  kMemoryKind,
  kMemoryOperation,
  kMemoryName,
  kMemoryCorrelation,
  kMemoryPoolSize,
  kMemoryPoolUsed,
};

constexpr std::array<std::string_view, 12> kMemoryColumns{"start",
                                                          "globalPid",
                                                          "deviceId",
                                                          "contextId",
                                                          "address",
                                                          "bytes",
                                                          "memKind",
                                                          "memoryOperationType",
                                                          "name",
                                                          "correlationId",
                                                          "localMemoryPoolSize",
                                                          "localMemoryPoolUtilizedSize"};

// Pageable and pinned memory is the host's.
trace::DeviceKind DeviceKindOf(std::int64_t memory_kind) {
  return memory_kind == 0 || memory_kind == 1 ? trace::DeviceKind::kCpu : trace::DeviceKind::kGpu;
}

StringId MemoryExtra(RankBuilder& rank, const TableScan& row) {
  JsonFields extra;
  if (!row.IsMissing(kMemoryContext)) {
    extra.Add("context", row.Integer(kMemoryContext));
  }
  if (!row.IsMissing(kMemoryCorrelation)) {
    extra.Add("correlation", row.Integer(kMemoryCorrelation));
  }
  return rank.Intern(extra.text());
}

// Sizes are positive in the table; damage must not flip the sign or overflow it.
std::int64_t SignedBytes(std::int64_t bytes, bool is_free) {
  const std::int64_t size = std::max<std::int64_t>(bytes, 0);
  return is_free ? -size : size;
}

}  // namespace

void ReadMemoryEvents(ExportContext& context, RankSet& ranks) {
  context.ForEachRow(kMemoryTable, kMemoryColumns, [&](TableScan& row) {
    const std::optional<std::int64_t> time = context.ReadTime(row, kMemoryStart, kMemoryTable);
    if (!time) {
      return;
    }
    const std::int32_t device = row.SmallInteger(kMemoryDevice, -1);
    RankBuilder& rank = ranks.ForProcessDevice(ProcessOf(row.Integer(kMemoryProcess)), device);
    rank.trace.memory_events.Append(
        {.begin_ns = *time,
         .bytes = SignedBytes(row.Integer(kMemoryBytes), row.Integer(kMemoryOperation) == 1),
         .address = static_cast<std::uint64_t>(row.Integer(kMemoryAddress)),
         .device_kind = DeviceKindOf(row.Integer(kMemoryKind, -1)),
         .device = device,
         .total_allocated_bytes = row.Integer(kMemoryPoolUsed, -1),
         .total_reserved_bytes = row.Integer(kMemoryPoolSize, -1),
         .name = rank.Intern(row.Text(kMemoryName)),
         .extra = MemoryExtra(rank, row)});
  });
}

}  // namespace orrery::ingest::nsys
