#pragma once

#include <cstdint>

#include "orrery/simulate/rank_classes.h"
#include "orrery/simulate/engine.h"

namespace orrery::simulate {

/// What kernels of one rank_class cost each other in a step.
struct DelayTotals {
  std::int64_t kernels = 0;           // that compute and took longer than alone
  std::int64_t kernels_alone_ps = 0;  // what they would have taken
  std::int64_t kernels_ps = 0;        // what they took
  std::int64_t transfers = 0;         // that took longer than alone, or began later
  std::int64_t transfers_alone_ps = 0;
  std::int64_t transfers_ps = 0;
  std::int64_t delayed_ps = 0;  // until kernels of both kinds had room
};

[[nodiscard]] DelayTotals DelayTotalsOf(const Timeline& timeline, RankClassId rank_class);

}  // namespace orrery::simulate
