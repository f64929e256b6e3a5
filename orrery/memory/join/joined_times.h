#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// What came of giving the work of one run the times of another.
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

/// Gives the device work of a recording of accesses the begin and duration of the same work in
/// `times`, another run of the program (see MatchLaunches). Work without a partner has no duration.
/// All other rows move to the clock of `times`, each to its place between the launches before and
/// after it, so that the trace has one clock again. Objects keep their addresses: nothing of
/// `times` but its times is taken. Where no work is the same the trace stays as it was.
[[nodiscard]] TimesJoin GiveTimes(const trace::Trace& times, trace::Trace& accesses);

}  // namespace orrery::memory
