#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// The uneven load of experts, different in every layer and micro-batch.
///
/// Recorded loads are taken as they are: layer by layer, one step of the log for each micro-batch,
/// again from the first when it ends. Otherwise experts are popular as 1/i^zipf, and which expert
/// has which place is drawn by a hash of seed, layer and micro-batch; where a plan only gives the
/// mean imbalance, the exponent is the one that has it.
class TokenLoad {
 public:
  TokenLoad(const Experts& experts, const Plan& plan);

  /// Tokens of the busiest expert rank over the mean.
  [[nodiscard]] double Busiest(std::uint32_t layer, std::uint32_t microbatch) const;

  /// The mean of that over layers and micro-batches.
  [[nodiscard]] double Mean() const;

  /// By which experts are popular, given or found; 0 for recorded loads.
  [[nodiscard]] double exponent() const { return exponent_; }

 private:
  [[nodiscard]] double DrawnBusiest(std::uint64_t key) const;
  [[nodiscard]] double BusiestOf(const std::vector<double>& loads) const;
  void FindExponent(const Experts& experts, double mean);

  std::size_t ranks_;
  const TokenRouting& routing_;
  double exponent_;
  std::vector<double> shares_;  // of tokens by place of popularity; empty: recorded
};

}  // namespace orrery::workload
