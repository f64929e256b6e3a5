#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {

struct BoostedTreesOptions {
  int max_rounds = 300;
  /// Stops after this many rounds without a better validation loss and keeps the best; 0: never.
  int patience = 30;
  int max_depth = 8;
  double learning_rate = 0.1;
  double row_share = 1;     // of the rows, resampled for each tree
  double column_share = 1;  // of the features, resampled for each tree
  double min_child_weight = 1;
  double ridge = 1;  // L2 penalty of leaves
  /// Residuals well beyond this count by their size instead of their square; 0: all by squares.
  double robust_scale = 0;
  int max_bins = 256;
  std::uint32_t seed = 0;
  int threads = 2;
};

struct BoostedTrees {
  Forest forest;
  /// The root mean squared error (robust: the mean absolute error) on validation rows after each
  /// round.
  std::vector<double> validation_losses;
};

/// Trains gradient-boosted trees with XGBoost (histograms) on the target, rows by weight. Without
/// validation rows all rounds are used. The same rows, options and library give the same forest.
[[nodiscard]] Result<BoostedTrees> TrainBoostedTrees(const DataSet& data, const TrainingRows& rows,
                                                     const BoostedTreesOptions& options);

/// Reads the first `num_trees` trees of a model that XGBoost saved as JSON.
[[nodiscard]] Result<Forest> ReadXgboostModel(const std::string& json, std::size_t num_trees);

}  // namespace orrery::learn
