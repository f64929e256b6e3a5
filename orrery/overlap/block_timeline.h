#pragma once

#include <cstdint>
#include <limits>

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// A kernel as its blocks see a GPU: a block computes a tile of its own when it begins, and then
/// takes what is left of the other tiles, one after the other, until there are none.
struct BlockPlan {
  std::int64_t blocks = 0;
  std::int64_t tiles = 0;   // at least one for each block
  std::int64_t alone = 0;   // blocks at a time
  std::int64_t beside = 0;  // … with the other kernel there
  /// Over the time of a tile alone: of a tile whose block finds the other kernel there when the
  /// kernel begins, and of one whose block comes later. More than 1 where blocks of a
  /// multiprocessor share its pace and more of them are there than alone.
  double first_pace = 1;
  double later_pace = 1;
};

/// When the other kernel is there, on the clock of this one, of its time alone.
struct Presence {
  double from = 0;
  double until = 0;
};

inline constexpr Presence kAllTheTime = {.from = -std::numeric_limits<double>::infinity(),
                                         .until = std::numeric_limits<double>::infinity()};

/// How long the kernel takes over its time alone when blocks come and go in whole tiles, all of
/// them equal; blocks that find no room when it begins wait for one to end or for the other kernel
/// to go. 1 where it finds no room at all.
[[nodiscard]] double SlowdownByBlocks(const BlockPlan& plan, const Presence& presence);

/// The plan of a pair whose launches are known, blocks at their own pace.
[[nodiscard]] BlockPlan PlanOf(const Machine& machine, const Pair& pair);

/// … at the pace of all blocks of their multiprocessor.
[[nodiscard]] BlockPlan SharedPlanOf(const Machine& machine, const Pair& pair);

}  // namespace orrery::overlap
