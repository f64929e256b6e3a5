#pragma once

#include <string_view>

#include "orrery/memory/heat/heat.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Builds small recordings for tests. Orders count launches, births and deaths together from 1.
class TestRecording {
 public:
  trace::Trace trace;

  RowId Born(std::uint64_t address, std::int64_t bytes,
             trace::MemoryClass memory_class = trace::MemoryClass::kTensor, RowId parent = kNoRow) {
    return trace.memory_objects.Append({.address = address,
                                        .bytes = bytes,
                                        .memory_class = memory_class,
                                        .birth_order = ++order_,
                                        .parent = parent});
  }

  void Died(RowId object) { trace.memory_objects.death_order[object] = ++order_; }

  RowId Launched(std::string_view name, trace::Coverage coverage = trace::Coverage::kExact,
                 std::int64_t duration_ns = 10) {
    return Work(trace::ActivityKind::kKernel, name, coverage, duration_ns);
  }

  RowId Copied(std::string_view name) {
    return Work(trace::ActivityKind::kMemcpy, name, trace::Coverage::kExact, 10);
  }

  void Touched(RowId activity, RowId object, std::int64_t read_bytes, std::int64_t write_bytes) {
    trace.touches.Append({.activity = activity,
                          .object = object,
                          .read_bytes = read_bytes,
                          .write_bytes = write_bytes,
                          .atomic_bytes = 0,
                          .sectors = (read_bytes + write_bytes + 31) / 32,
                          .lanes = (read_bytes + write_bytes) / 4,
                          .warps = (read_bytes + write_bytes + 127) / 128});
  }

  void Reached(RowId activity, RowId object) {
    trace.touches.Append({.activity = activity,
                          .object = object,
                          .coverage = trace::Coverage::kByArgument,
                          .address = trace.memory_objects.address[object],
                          .extent_bytes = trace.memory_objects.bytes[object]});
  }

  [[nodiscard]] std::int64_t order() const { return order_; }

 private:
  RowId Work(trace::ActivityKind kind, std::string_view name, trace::Coverage coverage,
             std::int64_t duration_ns) {
    const RowId activity = trace.activities.Append({.begin_ns = ++order_ * 100,
                                                    .duration_ns = duration_ns,
                                                    .name = trace.strings.Intern(name),
                                                    .kind = kind});
    trace.observations.Append({.activity = activity, .order = order_, .coverage = coverage});
    return activity;
  }

  std::int64_t order_ = 0;
};

/// Counts the accesses of a whole trace.
inline Result<AccessHeat> HeatOf(const trace::Trace& trace, const HeatOptions& options) {
  HeatCounter counter(options);
  ORRERY_TRY_STATUS(counter.Add(trace));
  return counter.Finish();
}

}  // namespace orrery::memory
