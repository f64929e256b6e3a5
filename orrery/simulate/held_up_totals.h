#pragma once

#include <cstdint>

#include "orrery/simulate/cast.h"
#include "orrery/simulate/play.h"

namespace orrery::simulate {

/// What kernels of one player cost each other in a step.
struct HeldUpTotals {
  std::int64_t kernels = 0;           // that compute and took longer than alone
  std::int64_t kernels_alone_ps = 0;  // what they would have taken
  std::int64_t kernels_ps = 0;        // what they took
  std::int64_t transfers = 0;         // that took longer than alone, or began later
  std::int64_t transfers_alone_ps = 0;
  std::int64_t transfers_ps = 0;
  std::int64_t delayed_ps = 0;  // until kernels of both kinds had room
};

[[nodiscard]] HeldUpTotals HeldUpTotalsOf(const Performance& performance, PlayerId player);

}  // namespace orrery::simulate
