#pragma once

#include <cstdint>
#include <span>

#include "orrery/trace/trace.h"

namespace orrery::workload {

/// One iteration of something that a host thread repeats.
struct HostPeriod {
  RowId track = kNoRow;
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t previous_begin_ns = 0;  // the turn before ends where this one begins
};

/// Puts `copies` more of each period behind it: operators, ranges, calls, what they launch and how
/// they wait, with ids of their own. All that comes later is moved, on the host by the period's
/// length and on the GPU by what the GPU takes for it; what lies around a period becomes longer.
///
/// A stream that waits for an event of the period before waits, in a copy, for that of the copy
/// before; what comes later and waits for an event of the period waits for the last copy's.
///
/// Recorded collectives are left out and counted as a loss: their rows do not say which of several
/// turns they belong to. Periods of one thread must not overlap.
[[nodiscard]] trace::Trace RepeatPeriods(trace::Trace recording,
                                         std::span<const HostPeriod> periods, int copies);

}  // namespace orrery::workload
