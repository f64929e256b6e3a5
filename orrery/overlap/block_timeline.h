#pragma once

#include <cstdint>
#include <limits>

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// A kernel as blocks on a GPU: a block computes a tile of its own when it starts, and then takes
/// one of the remaining tiles after the other until none are left.
struct BlockPlan {
  std::int64_t blocks = 0;
  std::int64_t tiles = 0;   // at least one for each block
  std::int64_t alone = 0;   // blocks at a time
  std::int64_t beside = 0;  // … with the other kernel running
  /// Tile times relative to those alone: of blocks that start with the kernel while the other one
  /// runs, and of blocks that start later. More than 1 where blocks share a multiprocessor and more
  /// of them run on it than alone.
  double first_pace = 1;
  double later_pace = 1;
};

/// The interval in which the other kernel runs, relative to this one's start and time alone.
struct Presence {
  double from = 0;
  double until = 0;
};

inline constexpr Presence kAllTheTime = {.from = -std::numeric_limits<double>::infinity(),
                                         .until = std::numeric_limits<double>::infinity()};

/// The slowdown of a kernel whose blocks start and end with whole, equal tiles; blocks without room
/// wait for another block or the other kernel to end. 1 if there is no room at all.
[[nodiscard]] double SlowdownByBlocks(const BlockPlan& plan, const Presence& presence);

/// The plan of a pair with known launches, with independent blocks.
[[nodiscard]] BlockPlan PlanOf(const Machine& machine, const Pair& pair);

/// … with blocks that share the throughput of their multiprocessor.
[[nodiscard]] BlockPlan SharedPlanOf(const Machine& machine, const Pair& pair);

}  // namespace orrery::overlap
