#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/search/search.h"
#include "orrery/search/space.h"

namespace orrery::search {

/// The cost of a plan and the memory it leaves, by which it is compared with others.
struct PlanTradeoff {
  PlanId id = 0;
  std::size_t simulated = 0;  // its index in the list of simulated plans
  std::int64_t step_ps = 0;
  std::int64_t memory_left_bytes =
      0;  // on the fullest GPU; the only metric of which more is better
  std::int64_t gpus = 0;
  std::optional<double> dollars_per_token = {};  // if prices are given
  std::optional<double> joules_per_token = {};   // if power is known

  bool operator==(const PlanTradeoff&) const = default;
};

/// Of each plan that was simulated and fits, in the order of simulation. Of a model without tokens,
/// dollars and joules are those of a sample.
[[nodiscard]] std::vector<PlanTradeoff> TradeoffsOf(const SearchResult& result, const Space& space,
                                                    const Prices& prices);

/// Returns true if a plan is worse than another in no metric, and better in one. A metric that one
/// of them lacks does not count.
[[nodiscard]] bool Dominates(const PlanTradeoff& one, const PlanTradeoff& other);

/// The plans that no other one dominates, by step, then by id. Of plans with the same metrics the
/// one with the smallest id; a metric that some plan lacks does not count. Costs a step for each
/// plan and each plan of the front.
[[nodiscard]] std::vector<PlanTradeoff> ParetoFront(std::vector<PlanTradeoff> plans);

}  // namespace orrery::search
