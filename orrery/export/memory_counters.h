#pragma once

#include <string>
#include <string_view>

#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// Returns the name of the counter that shows what an event's allocator holds: "orrery memory of
/// GPU 0".
[[nodiscard]] std::string MemoryCounterName(const trace::Trace& trace, trace::RowId memory_event);

/// Tells whether a counter stems from an earlier export: those are derived anew.
[[nodiscard]] bool IsMemoryCounter(std::string_view name);

}  // namespace orrery::exporting
