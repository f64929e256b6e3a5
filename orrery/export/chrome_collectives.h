#pragma once

#include <cstdint>
#include <span>

#include "orrery/export/chrome_events.h"
#include "orrery/export/collective_spans.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// Writes a process "collectives" with number `pid` (below zero: a name instead, as Kineto has for
/// what is no process) and a thread for each group: one slice for each collective, from the first
/// arrival to the last end.
void WriteCollectives(const trace::TraceSet& set, std::span<const CollectiveSpan> collectives,
                      std::int64_t pid, ChromeEvents& events);

}  // namespace orrery::exporting
