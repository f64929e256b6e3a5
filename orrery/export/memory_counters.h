#pragma once

#include <string>

#include "orrery/trace/trace.h"

namespace orrery::exporting {

/// Returns the name of the counter that shows what an event's allocator holds: "orrery memory of
/// GPU 0". Our reader knows it by its first words and derives it anew.
[[nodiscard]] std::string MemoryCounterName(const trace::Trace& trace, RowId memory_event);

}  // namespace orrery::exporting
