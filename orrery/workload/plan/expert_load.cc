#include "orrery/workload/plan/expert_load.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <vector>

namespace orrery::workload {
namespace {

/// Shares of `per_token` choices: proportional to `weights`, but at most 1 each. What is above 1 is
/// shared by the others; each round fills one more at least.
std::vector<double> CappedShares(std::vector<double> weights, double per_token) {
  std::vector<double> shares(weights.size());
  double left = per_token;
  double weight = std::accumulate(weights.begin(), weights.end(), 0.0);
  for (std::size_t i = 0; i < weights.size(); ++i) {  // heaviest first
    shares[i] = std::min(1.0, weight > 0 ? left * weights[i] / weight : 0.0);
    left -= shares[i];
    weight -= weights[i];
  }
  return shares;
}

}  // namespace

std::int64_t ExpertCapacity(double factor, std::int64_t tokens, const Experts& experts) {
  const double assignments = static_cast<double>(tokens * experts.per_token);
  return static_cast<std::int64_t>(
      std::ceil(factor * assignments / static_cast<double>(experts.count)));
}

double UniformImbalance(int ranks, std::int64_t assignments) {
  if (ranks <= 1 || assignments <= 0) {
    return 1;
  }
  return 1 + std::sqrt(2 * std::log(ranks) / static_cast<double>(assignments));
}

double ZipfImbalance(const Experts& experts, int ranks, double exponent) {
  std::vector<double> weights;
  for (std::int64_t i = 1; i <= experts.count; ++i) {
    weights.push_back(std::pow(static_cast<double>(i), -exponent));
  }
  const auto per_token = static_cast<double>(experts.per_token);
  const std::vector<double> shares = CappedShares(std::move(weights), per_token);
  double busiest = 0;  // the first rank has the heaviest expert of every round
  for (std::size_t i = 0; i < shares.size(); i += static_cast<std::size_t>(ranks)) {
    busiest += shares[i];
  }
  return busiest * ranks / per_token;
}

ExpertTokens TokensOfExpertRank(const Experts& experts, const Plan& plan, std::int64_t tokens) {
  if (plan.capacity_factor > 0) {
    const auto padded =
        static_cast<double>(ExpertCapacity(plan.capacity_factor, tokens, experts) * experts.count);
    return {.mean = padded, .busiest = padded};
  }
  const auto assignments = static_cast<double>(tokens * experts.per_token);
  return {.mean = assignments, .busiest = assignments * std::max(1.0, plan.token_imbalance)};
}

}  // namespace orrery::workload
