#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/error.h"

namespace orrery::learn {

/// A node of a decision tree as trainers and files give it. A row goes left when its feature is
/// below the threshold; a leaf adds its value.
struct TreeNode {
  std::uint32_t left = 0;  // 0 for a leaf: the root is nobody's child
  std::uint32_t right = 0;
  std::uint32_t feature = 0;
  float threshold = 0;
  bool missing_goes_left = true;  // where a row without the feature (NaN) goes
  double value = 0;

  [[nodiscard]] bool IsLeaf() const { return left == 0; }

  bool operator==(const TreeNode&) const = default;
};

/// The root is first; children lie anywhere behind.
using Tree = std::vector<TreeNode>;

/// A sum of decision trees, immutable and optimized for speed: eight bytes per node, siblings
/// adjacent, sixteen rows walked in lockstep to hide memory latency.
///
/// Leaves are integers of one unit, a power of two, and are summed as integers. So a prediction is
/// the same to the last bit on every machine, for any batch and any number of threads. The unit is
/// at most 2^-30 of the largest leaf.
class Forest {
 public:
  /// Fails if the nodes of a tree do not form a tree, or are more than 65,535.
  [[nodiscard]] static Result<Forest> FromTrees(double base, std::size_t num_features,
                                                std::span<const Tree> trees);

  /// Predicts one row of `num_features` values.
  [[nodiscard]] double Predict(std::span<const float> row) const;

  /// Predicts rows that lie one after the other; `threads` as for ParallelFor.
  [[nodiscard]] std::vector<double> PredictRows(std::span<const float> rows, int threads = 1) const;

  /// Returns the forest with every leaf rounded to a multiple of `step`, a power of two. The file
  /// is smaller for it; evaluate a model after rounding, not before.
  [[nodiscard]] Forest Rounded(double step) const;

  /// Returns the largest power of two whose rounding leaves a standard error of at most `error` in
  /// a prediction: each of T leaves is off by step / √12, together step · √(T / 12).
  [[nodiscard]] double StepForError(double error) const;

  /// Returns the largest power of two of which every leaf is a multiple.
  [[nodiscard]] double LeafStep() const;

  /// Returns the trees, nodes in breadth-first order, siblings side by side.
  [[nodiscard]] std::vector<Tree> Trees() const;

  /// Returns the least value at which a tree splits rows by a feature; nothing where none does.
  [[nodiscard]] std::optional<float> LeastThreshold(std::size_t feature) const;

  [[nodiscard]] double base() const { return base_; }

  [[nodiscard]] std::size_t num_features() const { return num_features_; }

  [[nodiscard]] std::size_t num_trees() const { return tree_begins_.size() - 1; }

  [[nodiscard]] std::size_t num_nodes() const { return nodes_.size(); }

 private:
  // Floats are compared as integers of the same order (see KeyOf in the source).
  struct Node {
    std::int32_t threshold_key = 0;
    std::uint16_t feature = 0;
    std::uint16_t left = 0;  // within the tree, the right child follows; a leaf is its own
  };

  struct Walk;

  Forest() = default;

  [[nodiscard]] Status Append(const Tree& tree);
  [[nodiscard]] double ToPrediction(std::int64_t sum) const;
  void PredictBlock(std::span<const float> rows, std::span<double> predictions) const;

  double base_ = 0;
  double unit_ = 1;
  std::size_t num_features_ = 0;
  std::vector<std::size_t> tree_begins_ = {0};  // one more than trees
  std::vector<std::uint32_t> tree_depths_;
  std::vector<Node> nodes_;
  std::vector<std::int32_t> leaves_;              // of each node, 0 for inner ones
  std::vector<std::uint8_t> missing_goes_right_;  // of each node
};

}  // namespace orrery::learn
