#pragma once

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// A moment on the clocks of two runs.
struct ClockAnchor {
  std::int64_t from_ns = 0;
  std::int64_t to_ns = 0;
};

/// Maps times from the clock of one run to that of another, linearly between anchors and shifted
/// outside them. Times keep their order: anchors that would go back are moved forward, so that host
/// work before a launch is never placed after the begin of the launched work.
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

/// The result of giving the work of one run the times of another.
struct TimesJoin {
  struct Count {
    std::int64_t all = 0;
    std::int64_t with_times = 0;

    bool operator==(const Count&) const = default;
  };

  /// Work of one name that has no times.
  struct Lacking {
    std::string name;  // of kernels without template arguments
    std::int64_t count = 0;

    bool operator==(const Lacking&) const = default;
  };

  Count kernels = {};
  Count others = {};                   // copies, sets
  std::vector<Lacking> lacking = {};   // most first, ties by name
  std::int64_t num_only_in_times = 0;  // work of the other run that this one has not
  bool is_cut = false;                 // the runs differ so much that a rest was not compared

  bool operator==(const TimesJoin&) const = default;
};

/// Copies begin and duration of the same device work from `times`, another run of the program (see
/// MatchLaunches), into a recording of accesses. Work without a partner has no duration. All other
/// rows move to the clock of `times`. Without any match the trace is unchanged.
[[nodiscard]] TimesJoin GiveTimes(const trace::Trace& times, trace::Trace& accesses);

}  // namespace orrery::memory
