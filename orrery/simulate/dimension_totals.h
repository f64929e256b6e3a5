#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "orrery/simulate/breakdown.h"
#include "orrery/simulate/engine.h"
#include "orrery/simulate/rank_classes.h"

namespace orrery::simulate {

/// What one rank communicates in a step along one dimension of its plan.
struct DimensionTotal {
  std::string dimension;  // "tp", "dp", …
  std::int64_t calls = 0;
  std::int64_t bytes = 0;        // as collective::Request counts
  std::int64_t transfer_ps = 0;  // while data moves
  std::int64_t wait_ps = 0;      // until the last member has arrived
  std::int64_t exposed_ps = 0;   // of both, what no kernel hides; of "pp" only the moving

  bool operator==(const DimensionTotal&) const = default;
};

/// Adds up the communication of the rank class of a breakdown, most exposed first. Groups of one
/// rank are left out.
[[nodiscard]] std::vector<DimensionTotal> DimensionTotals(const RankClasses& rank_classes,
                                                          const Timeline& timeline,
                                                          const Breakdown& breakdown);

/// Time in which communication runs and no kernel does, the mean over all ranks: what
/// `orrery analyze` calls exposed on the traces of the same simulation. Waiting for a stage of the
/// pipeline counts when a message is awaited for it.
[[nodiscard]] std::int64_t MeanExposedPs(const RankClasses& rank_classes, const Timeline& timeline);

}  // namespace orrery::simulate
