#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// A moment on the clocks of two runs.
struct ClockAnchor {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

/// Moves times from the clock of one run to that of another, in straight lines between moments that
/// are known on both. Times keep their order: of anchors that go back on the second clock the
/// earlier ones are moved forward, so that what the host did before it asked for some work is never
/// placed behind its begin. Outside of the anchors times are only shifted.
class MovedClock {
 public:
  /// At least one anchor, in any order.
  explicit MovedClock(std::vector<ClockAnchor> anchors);

  [[nodiscard]] std::int64_t At(std::int64_t time_ns) const;

 private:
  std::vector<ClockAnchor> anchors_;  // both columns ascend
};

/// Moves the times of all rows of a trace.
void MoveRows(const MovedClock& clock, trace::Trace& trace);

}  // namespace orrery::memory
