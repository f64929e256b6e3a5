#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orrery/learn/data_set.h"
#include "orrery/learn/scaler.h"

namespace orrery::learn {

/// The mean target of the nearest rows, by distance of standardised features: the baseline that
/// needs no training. Also tells how far a row is from anything seen. Brute force: a prediction
/// costs rows × features.
class Nearest {
 public:
  /// Remembers `rows`; there must be at least one. Equally near rows: the earlier one counts.
  Nearest(const DataSet& data, std::span<const RowIndex> rows, std::size_t neighbours);

  [[nodiscard]] double Predict(std::span<const float> row) const;

  /// Predicts rows that lie one after the other; `threads` as for ParallelFor.
  [[nodiscard]] std::vector<double> PredictRows(std::span<const float> rows, int threads = 1) const;

  /// Returns the distance to the nearest row, in standard deviations of the features.
  [[nodiscard]] double DistanceTo(std::span<const float> row) const;

 private:
  struct Neighbour {
    double squared_distance = 0;
    std::size_t row = 0;
  };

  [[nodiscard]] std::vector<Neighbour> FindNearest(std::span<const float> row,
                                                   std::size_t count) const;

  Scaler scaler_;
  std::size_t neighbours_ = 1;
  std::vector<float> scaled_;  // rows × features
  std::vector<double> targets_;
};

}  // namespace orrery::learn
