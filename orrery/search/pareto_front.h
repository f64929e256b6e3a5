#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/search/search.h"
#include "orrery/search/space.h"

namespace orrery::search {

/// What a plan costs and leaves, by which it is compared with others.
struct PlanTradeoff {
  PlanId id = 0;
  std::size_t played = 0;  // its place in SearchResult::played
  std::int64_t step_ps = 0;
  std::int64_t memory_left_bytes =
      0;  // on the fullest GPU; the only figure of which more is better
  std::int64_t gpus = 0;
  std::optional<double> dollars_per_token = {};  // where prices are given
  std::optional<double> joules_per_token = {};   // where power is known

  bool operator==(const PlanTradeoff&) const = default;
};

/// Of each plan that was played and fits, in the order in which they were played. Of a model
/// without tokens, dollars and joules are those of a sample.
[[nodiscard]] std::vector<PlanTradeoff> TradeoffsOf(const SearchResult& result, const Space& space,
                                                    const Prices& prices);

/// Whether a plan is in no figure worse than another, and better in one. A figure that one of them
/// lacks does not count.
[[nodiscard]] bool Dominates(const PlanTradeoff& one, const PlanTradeoff& other);

/// The plans that no other one dominates, by step, then by id. Of plans with the same figures the
/// one with the smallest id; a figure that some plan lacks does not count. Costs a step for each
/// plan and each plan of the front.
[[nodiscard]] std::vector<PlanTradeoff> ParetoFront(std::vector<PlanTradeoff> plans);

}  // namespace orrery::search
