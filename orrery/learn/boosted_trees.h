#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/forest.h"
#include "orrery/learn/split.h"

namespace orrery::learn {

struct BoostedTreesOptions {
  enum class Loss { kSquaredError, kAbsoluteError };

  /// 1 where the prediction may only rise with the feature, -1 where it may only fall.
  enum class Direction : std::int8_t { kFalling = -1, kFree = 0, kRising = 1 };

  Loss loss = Loss::kSquaredError;
  int max_rounds = 300;
  /// Stops after so many rounds without a better validation loss and keeps the best; 0: never.
  int patience = 30;
  int max_depth = 8;
  double learning_rate = 0.1;
  double row_share = 1;     // of the rows for each tree, drawn anew
  double column_share = 1;  // of the features for each tree, drawn anew
  double min_child_weight = 1;
  double ridge = 1;           // L2 penalty of leaves
  double min_split_gain = 0;  // a split that gains less is not made
  int max_bins = 256;
  std::vector<Direction> directions = {};  // one for each feature, or none at all
  std::uint32_t seed = 0;
  int threads = 2;
};

/// What a feature did in all splits of a forest.
struct SplitImportance {
  std::int64_t num_splits = 0;
  double gain = 0;   // sum of the loss taken away
  double cover = 0;  // sum of the weight of rows that were split
};

struct BoostedTrees {
  Forest forest;
  /// The loss on validation rows after each round: root of mean squares, or mean |error|.
  std::vector<double> validation_losses;
  std::vector<SplitImportance> importance_of_feature;
};

/// Trains gradient-boosted trees with XGBoost (histograms) on the target, rows by weight. Without
/// validation rows all rounds are used. The same rows, options and library give the same forest.
[[nodiscard]] Result<BoostedTrees> TrainBoostedTrees(const DataSet& data, const TrainingRows& rows,
                                                     const BoostedTreesOptions& options);

}  // namespace orrery::learn
