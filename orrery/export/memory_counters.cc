#include "orrery/export/memory_counters.h"

#include <string_view>

#include <fmt/format.h>

namespace orrery::exporting {
namespace {

constexpr std::string_view kPrefix = "orrery memory of ";

std::string_view DeviceWord(trace::DeviceKind kind) {
  return kind == trace::DeviceKind::kGpu ? "GPU" : "device";
}

}  // namespace

std::string MemoryCounterName(const trace::Trace& trace, RowId memory_event) {
  const trace::DeviceKind kind = trace.memory_events.device_kind[memory_event];
  if (kind == trace::DeviceKind::kCpu) {
    return fmt::format("{}CPU", kPrefix);
  }
  return fmt::format("{}{} {}", kPrefix, DeviceWord(kind),
                     trace.memory_events.device[memory_event]);
}

}  // namespace orrery::exporting
