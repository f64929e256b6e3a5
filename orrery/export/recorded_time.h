#pragma once

#include <cstdint>
#include <span>

#include "orrery/export/collective_spans.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

/// Returns the earliest time of anything that is written, 0 when there is nothing.
[[nodiscard]] std::int64_t EarliestTime(const trace::TraceSet& set,
                                        std::span<const CollectiveSpan> collectives);

/// Returns the whole second at or before a time.
[[nodiscard]] std::int64_t FloorToSecond(std::int64_t at_ns);

}  // namespace orrery::exporting
