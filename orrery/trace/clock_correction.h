#pragma once

#include <cstdint>

#include "orrery/trace/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {

/// Returns the time on the common clock, in integer arithmetic. Later times never come out earlier.
[[nodiscard]] std::int64_t CorrectedTime(const RankClock& clock, std::int64_t time_ns);

/// Corrects every time of every rank whose clock is to be corrected (RankClock::apply). Under drift
/// durations follow their ends, so that what lay inside something stays inside.
void ApplyAlignment(TraceSet& set, const ClockAlignment& alignment);

}  // namespace orrery::trace
