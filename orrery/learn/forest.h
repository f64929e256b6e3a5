#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"

namespace orrery::learn {

/// A node of a decision tree as trainers and files give it. A row goes left when its feature is
/// below the threshold; a leaf adds its value.
struct TreeNode {
  std::uint32_t left = 0;  // 0 for a leaf: the root is never a child
  std::uint32_t right = 0;
  std::uint32_t feature = 0;
  float threshold = 0;
  bool missing_goes_left = true;  // direction of a row without the feature (NaN)
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

  Status Append(const Tree& tree);
  double ToPrediction(std::int64_t sum) const;
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

// Numbers as compressors like them: all lowest bytes, then all second bytes, and so on for as many
// as the largest number needs. A reader of damaged bytes fails (`failed()`) and gives zeros.

void WritePlanes(ByteWriter& writer, std::span<const std::uint32_t> numbers);
[[nodiscard]] std::vector<std::uint32_t> ReadPlanes(ByteReader& reader, std::size_t count);

/// Signed numbers become 0, -1, 1, -2, 2, … so that small ones have few bytes.
void WriteSignedPlanes(ByteWriter& writer, std::span<const std::int32_t> numbers);
[[nodiscard]] std::vector<std::int32_t> ReadSignedPlanes(ByteReader& reader, std::size_t count);

/// Eight flags a byte.
void WriteFlags(ByteWriter& writer, std::span<const std::uint8_t> flags);
[[nodiscard]] std::vector<std::uint8_t> ReadFlags(ByteReader& reader, std::size_t count);

void WriteFloats(ByteWriter& writer, std::span<const float> values);
[[nodiscard]] std::vector<float> ReadFloats(ByteReader& reader, std::size_t count);

void WriteDouble(ByteWriter& writer, double value);
[[nodiscard]] double ReadDouble(ByteReader& reader);

/// The standard error that rounding leaves may bring into a prediction of a shipped model: five of
/// them are 1e-4, one hundredth of a percent where predictions are logarithms of times.
inline constexpr double kShippedLeafError = 2e-5;

/// Returns the forest as it is shipped, leaves rounded. Evaluate this one.
[[nodiscard]] Forest RoundedForShipping(const Forest& forest);

/// Writes a forest for a section of a model file: the distinct thresholds of each feature once, as
/// floats; for each node, breadth first, whether it splits, on which feature and at which of its
/// thresholds; leaves as multiples of the forest's leaf step. Round the forest first,
/// else leaves take four bytes. Nothing is lost.
[[nodiscard]] std::string EncodeForest(const Forest& forest);

/// Reads what EncodeForest wrote; it predicts the same to the last bit.
[[nodiscard]] Result<Forest> DecodeForest(std::string_view bytes);

}  // namespace orrery::learn
