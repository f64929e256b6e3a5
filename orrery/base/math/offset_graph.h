#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery {

/// A measured difference: value(first) - value(second).
struct MeasuredDifference {
  std::uint32_t first = 0;
  std::uint32_t second = 0;
  double difference = 0;
  double weight = 1;
};

/// Finds the values whose differences fit the measured ones best: the weighted least squares
/// solution of value(first) - value(second) = difference. Differences fix values up to a constant
/// in each connected part of the graph, where the mean is 0.
///
/// Conjugate gradients on the weighted Laplacian; a part of n values takes at most a few n rounds.
[[nodiscard]] std::vector<double> SolveDifferences(std::uint32_t num_values,
                                                   std::span<const MeasuredDifference> measured);

}  // namespace orrery
