#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/base/math/interval_set.h"

namespace orrery::analyze {

/// The activity of a GPU at an instant, recorded or predicted; of several the first in this order
/// counts.
enum class TimeKind : std::uint8_t {
  kCompute,    // a kernel runs; of a prediction by its category
  kOptimizer,  // a kernel of the optimizer runs
  kTransfer,   // nothing but communication runs; of a prediction by its dimension
  kBubble,     // waits for a stage of the pipeline, or has nothing to do in one
  kWait,       // waits for other members of a group; of a prediction by its dimension
  kMemory,     // nothing but memcpys and memsets run
  kHost,       // the next task is not launched yet
  kIdle,       // nothing runs between kernels, where there is no pipeline
};

[[nodiscard]] inline std::string_view Name(TimeKind kind) {
  constexpr std::array<std::string_view, 8> kNames = {"compute", "optimizer", "transfer", "bubble",
                                                      "wait",    "memory",    "host",     "idle"};
  return kNames[static_cast<std::size_t>(kind)];
}

/// When a GPU does one thing. Recorded time is in nanoseconds, predicted time in picoseconds.
struct TimePart {
  TimeKind kind = TimeKind::kCompute;
  std::string what = {};  // a category or a dimension; empty for the other kinds
  IntervalSet time = {};
};

/// Leaves each part only the time in which none before it is active. Returns the time of all.
inline IntervalSet MakeExclusive(std::vector<TimePart>& parts) {
  IntervalSet busy;
  for (TimePart& part : parts) {
    IntervalSet own = Difference(part.time, busy);
    busy = Union(busy, part.time);
    part.time = std::move(own);
  }
  return busy;
}

}  // namespace orrery::analyze
