#pragma once

#include <cstdint>
#include <vector>

#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// Kernel times that vary: lognormal with mean 1 and `sigma` of the logarithm. Drawn by a hash of
/// (seed, rank, number), so that no draw depends on another one.
[[nodiscard]] double DrawFactor(double sigma, std::uint64_t seed, workload::Rank rank,
                                std::uint64_t number);

/// The expected delay by varying kernels in folded rank classes: the work between two
/// communications of n ranks in the order of the program has a spread of sigma · sqrt(Σ d²), and
/// all wait for the slowest of n.
class ExpectedDelay {
 public:
  ExpectedDelay(const RankClasses& rank_classes, double sigma);

  /// Σ d² of the kernels of a rank class since its last communication with others, in ps².
  [[nodiscard]] double SquaresBefore(RankClassId rank_class, workload::TaskId task) const;

  /// The expected time by which the last rank of a group is later than one of them.
  [[nodiscard]] std::int64_t DelayPs(GroupClassId group, double squares) const;

 private:
  const RankClasses& rank_classes_;
  std::vector<double> spread_of_group_;                  // sigma · the expected maximum
  std::vector<std::vector<double>> squares_of_program_;  // by task; only communication has any
};

}  // namespace orrery::simulate
