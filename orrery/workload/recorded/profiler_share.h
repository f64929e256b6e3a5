#pragma once

#include "orrery/workload/recorded/call_tree.h"

namespace orrery::workload {

// Where the profiler's cost of an event is seen: a part inside of the event's own time, the rest
// around it, half before and half after. Operators that only change a view take 1.3 µs in all when
// recorded, which bounds the part inside; launches hold more of theirs, because the profiler's
// hook runs inside of the call.
inline constexpr double kOperatorInside = 0.4;
inline constexpr double kLaunchInside = 0.5;

// A launch costs the profiler less than an operator, whose inputs it writes down with their shapes.
inline constexpr double kLaunchEvents = 0.5;

/// The share of the profiler's cost of an event that lies within the time of the call.
[[nodiscard]] constexpr double ProfilerShareInside(CallKind kind) {
  switch (kind) {
    case CallKind::kRoot:
      return 0;
    case CallKind::kLaunch:
    case CallKind::kSynchronize:
      return kLaunchInside * kLaunchEvents;
    default:
      return kOperatorInside;
  }
}

/// The share that lies before the call; as much lies behind it.
[[nodiscard]] constexpr double ProfilerShareBeside(CallKind kind) {
  switch (kind) {
    case CallKind::kRoot:
      return 0;
    case CallKind::kLaunch:
    case CallKind::kSynchronize:
      return (1 - kLaunchInside) * kLaunchEvents / 2;
    default:
      return (1 - kOperatorInside) / 2;
  }
}

}  // namespace orrery::workload
