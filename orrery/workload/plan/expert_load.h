#pragma once

#include <cstdint>

#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Tokens that an expert takes of one rank where it has a capacity: ⌈factor · tokens · k / E⌉.
[[nodiscard]] std::int64_t ExpertCapacity(double factor, std::int64_t tokens,
                                          const Experts& experts);

/// What chance alone makes of the busiest of `ranks`, relative to the mean, when each of
/// `assignments` tokens of a rank chooses its expert independently: 1 + √(2 ln ranks /
/// assignments).
[[nodiscard]] double UniformImbalance(int ranks, std::int64_t assignments);

/// The busiest of `ranks` relative to the mean when the experts are chosen as 1/i^exponent and
/// dealt to ranks in turn. No expert takes a token twice. Exponent 0: 1.
[[nodiscard]] double ZipfImbalance(const Experts& experts, int ranks, double exponent);

/// Tokens that expert ranks process in one pass, one for each expert that a token goes to.
struct ExpertTokens {
  double mean = 0;
  double busiest = 0;

  bool operator==(const ExpertTokens&) const = default;
};

/// What arrives at an expert rank when each rank sends `tokens`: as many assignments as it sends,
/// times the imbalance of the plan; with a capacity every expert is padded to it.
[[nodiscard]] ExpertTokens TokensOfExpertRank(const Experts& experts, const Plan& plan,
                                              std::int64_t tokens);

}  // namespace orrery::workload
