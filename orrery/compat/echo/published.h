#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/echo/rows.h"

namespace orrery::compat::echo {

/// Mean and population deviation of each feature over some rows, as scikit-learn's StandardScaler.
class Standardisation {
 public:
  [[nodiscard]] static Standardisation Of(std::span<const KernelRow> rows,
                                          std::span<const std::uint32_t> of);

  [[nodiscard]] Features Apply(const Features& features) const;

 private:
  Features mean_ = {};
  Features deviation_ = {};
};

/// Returns the duration for Echo's slowdown, computed in float; negative slowdowns count as 0.
[[nodiscard]] double DurationFrom(const KernelRow& row, float slowdown);

struct PublishedLine {
  std::string label;
  double value = 0;
  bool is_sum = false;       // a sum of durations, printed with its error
  double error_percent = 0;  // of a sum
  bool has_error = false;

  [[nodiscard]] std::string Text() const;
};

/// Echo's test as published: the overlapped rows, raw features. `slowdowns` has one prediction for
/// each row of `rows`. The lines are in the order of output_metrics.txt.
[[nodiscard]] std::vector<PublishedLine> PublishedLines(std::span<const KernelRow> rows,
                                                        std::span<const float> slowdowns);

/// Returns the lines that differ between the published text and `lines`.
[[nodiscard]] std::vector<std::string> DifferencesFrom(std::string_view published_text,
                                                       std::span<const PublishedLine> lines);

/// Adds like NumPy: eight partial sums in blocks of at most 128 values, blocks in pairs. The last
/// digits of published numbers depend on this order.
[[nodiscard]] double PairwiseSum(std::span<const double> values);

/// Returns RandomState(seed).permutation(count) of NumPy: MT19937, Fisher-Yates from the last
/// element, with masked rejection sampling.
[[nodiscard]] std::vector<std::uint32_t> LegacyPermutation(std::size_t count, std::uint32_t seed);

/// The rows of scikit-learn's train_test_split.
struct LegacySplit {
  std::vector<std::uint32_t> train;  // sorted
  std::vector<std::uint32_t> test;
};

/// The test rows are the first ⌈count · test_share⌉ of the permutation.
[[nodiscard]] LegacySplit SplitAsScikitLearn(std::size_t count, double test_share,
                                             std::uint32_t seed);

/// Echo's slowdown model: an XGBoost forest, evaluated like XGBoost with float sums from the base
/// score through the trees in order. `learn::Forest` sums exactly and would differ in the last
/// digits from the published numbers.
class SlowdownModel {
 public:
  /// Reads XGBoost's JSON. Fails for other features than Echo's and for nodes that form no tree.
  [[nodiscard]] static Result<SlowdownModel> Parse(std::string_view json);

  /// Returns the slowdown as Echo defines it; may be negative.
  [[nodiscard]] float Predict(const Features& features) const;

  [[nodiscard]] std::size_t num_trees() const { return tree_begins_.size(); }

  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }

  /// The share of each feature in the gain of all splits, in the order of kFeatures.
  [[nodiscard]] std::span<const double> gain_shares() const { return gain_shares_; }

 private:
  struct Node {
    std::int32_t left = -1;  // within the tree; -1 for a leaf
    std::int32_t right = -1;
    std::uint32_t feature = 0;
    float condition = 0;  // the threshold, or the value of a leaf
    bool missing_goes_left = false;
  };

  class Reader;

  float base_ = 0;
  std::vector<std::size_t> tree_begins_;
  std::vector<Node> nodes_;
  std::vector<double> gain_shares_ = std::vector<double>(kFeatures.size(), 0.0);
};

}  // namespace orrery::compat::echo
