#pragma once

#include "orrery/workload/recorded/call_tree.h"

namespace orrery::workload {

/// Where the profiler's cost of an event is observed: a share inside the event's own time, the rest
/// around it, half before and half after. Operators that only change a view take 1.3 µs in all when
/// recorded, which bounds the share inside; launches contain more of theirs, because the profiler's
/// hook runs inside the call. A launch costs the profiler half as much as an operator, whose input
/// shapes it records.
struct ProfilerShare {
  double inside = 0;
  double before = 0;  // as much follows the call
};

[[nodiscard]] constexpr ProfilerShare ProfilerShareOf(CallKind kind) {
  switch (kind) {
    case CallKind::kRoot:
      return {};
    case CallKind::kLaunch:
    case CallKind::kSynchronize:
      return {.inside = 0.5 * 0.5, .before = (1 - 0.5) * 0.5 / 2};
    default:
      return {.inside = 0.4, .before = (1 - 0.4) / 2};
  }
}

}  // namespace orrery::workload
