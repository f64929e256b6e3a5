#include "orrery/learn/forest.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/check.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/error.h"

namespace orrery::learn {
namespace {

constexpr std::size_t kLanes = 16;
constexpr std::size_t kBlockRows = 64;

constexpr std::int32_t kMissing = std::numeric_limits<std::int32_t>::min();
// Above the key of infinity: every row goes left at a leaf, that is to the leaf itself.
constexpr std::int32_t kAlwaysLeft = std::numeric_limits<std::int32_t>::max();

// Returns integers in the order of the floats: negative floats have their lower bits inverted.
// Adding 0 makes -0 equal to 0.
std::int32_t KeyOf(float value) {
  if (std::isnan(value)) {
    return kMissing;
  }
  const auto bits = std::bit_cast<std::int32_t>(value + 0.0F);
  return bits ^ ((bits >> 31) & 0x7fffffff);
}

float ValueOf(std::int32_t key) {
  return std::bit_cast<float>(key ^ ((key >> 31) & 0x7fffffff));
}

// Returns the power of two that makes the largest leaf at most 2^30 units.
double UnitFor(std::span<const Tree> trees) {
  double largest = 0;
  for (const Tree& tree : trees) {
    for (const TreeNode& node : tree) {
      largest = std::max(largest, node.IsLeaf() ? std::abs(node.value) : 0);
    }
  }
  // Leaves too small for any prediction need no unit that a double can hardly express.
  return largest > 0x1p-200 ? std::ldexp(1.0, std::ilogb(largest) - 29) : 1.0;
}

struct Placed {
  std::uint32_t source = 0;  // index in the tree as given
  std::uint32_t depth = 0;
};

Status CheckNode(const TreeNode& node, std::size_t num_nodes, std::size_t num_features) {
  const bool is_valid = node.IsLeaf()
                            ? std::isfinite(node.value)
                            : node.left < num_nodes && node.right < num_nodes && node.right != 0 &&
                                  node.feature < num_features && !std::isnan(node.threshold);
  if (!is_valid) {
    return Invalid("a node of a decision tree is damaged");
  }
  return {};
}

// Returns the nodes in breadth-first order, so that siblings lie side by side.
Result<std::vector<Placed>> Arrange(const Tree& tree, std::size_t num_features) {
  if (tree.empty() || tree.size() > std::numeric_limits<std::uint16_t>::max()) {
    return Fail(Error::Kind::kUnsupported, "a decision tree has from 1 to 65535 nodes");
  }
  std::vector<Placed> placed = {{}};
  for (std::size_t next = 0; next < placed.size(); ++next) {
    const auto [source, depth] = placed[next];
    const TreeNode& node = tree[source];
    ORRERY_TRY_STATUS(CheckNode(node, tree.size(), num_features));
    if (node.IsLeaf()) {
      continue;
    }
    placed.push_back({node.left, depth + 1});
    placed.push_back({node.right, depth + 1});
    if (placed.size() > tree.size()) {
      return Invalid("a node of a decision tree has two parents");
    }
  }
  return placed;
}

}  // namespace

// The positions of all lanes: each has its own tree and row of keys.
struct Forest::Walk {
  std::array<const Node*, kLanes> nodes;
  std::array<const std::int32_t*, kLanes> keys;
  std::array<std::uint32_t, kLanes> at{};

  [[gnu::always_inline]] void Descend(std::uint32_t depth) {
    for (std::uint32_t level = 0; level < depth; ++level) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const Node node = nodes[lane][at[lane]];
        at[lane] =
            node.left + static_cast<std::uint32_t>(keys[lane][node.feature] >= node.threshold_key);
      }
    }
  }

  // The same for rows in which values may be missing.
  void DescendWithMissing(std::uint32_t depth,
                          const std::array<const std::uint8_t*, kLanes>& missing_goes_right) {
    for (std::uint32_t level = 0; level < depth; ++level) {
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        const Node node = nodes[lane][at[lane]];
        const std::int32_t key = keys[lane][node.feature];
        // Both are computed: a branch on missing values is hard to predict.
        const std::uint32_t is_above = key >= node.threshold_key ? 1 : 0;
        const std::uint32_t is_missing = key == kMissing ? 1 : 0;
        at[lane] = node.left + (is_above | (is_missing & missing_goes_right[lane][at[lane]]));
      }
    }
  }
};

Result<Forest> Forest::FromTrees(double base, std::size_t num_features,
                                 std::span<const Tree> trees) {
  if (num_features == 0 || num_features > std::numeric_limits<std::uint16_t>::max()) {
    return Fail(Error::Kind::kUnsupported, "a forest has from 1 to 65535 features");
  }
  if (!std::isfinite(base)) {
    return Invalid("the base of a forest is not a number");
  }
  Forest forest;
  forest.base_ = base;
  forest.num_features_ = num_features;
  forest.unit_ = UnitFor(trees);
  for (const Tree& tree : trees) {
    ORRERY_TRY_STATUS(forest.Append(tree));
  }
  return forest;
}

Status Forest::Append(const Tree& tree) {
  ORRERY_TRY(const std::vector<Placed> order, Arrange(tree, num_features_));
  std::uint16_t next_child = 1;
  for (std::size_t place = 0; place < order.size(); ++place) {
    const TreeNode& node = tree[order[place].source];
    if (node.IsLeaf()) {
      nodes_.push_back({.threshold_key = kAlwaysLeft, .left = static_cast<std::uint16_t>(place)});
      leaves_.push_back(static_cast<std::int32_t>(std::lrint(node.value / unit_)));
      missing_goes_right_.push_back(0);
      continue;
    }
    nodes_.push_back({.threshold_key = KeyOf(node.threshold),
                      .feature = static_cast<std::uint16_t>(node.feature),
                      .left = next_child});
    leaves_.push_back(0);
    missing_goes_right_.push_back(node.missing_goes_left ? 0 : 1);
    next_child = static_cast<std::uint16_t>(next_child + 2);
  }
  tree_begins_.push_back(nodes_.size());
  tree_depths_.push_back(order.back().depth);
  return {};
}

double Forest::ToPrediction(std::int64_t sum) const {
  return base_ + static_cast<double>(sum) * unit_;
}

double Forest::Predict(std::span<const float> row) const {
  ORRERY_CHECK(row.size() == num_features_, "a row has every feature");
  std::vector<std::int32_t> keys(num_features_);
  std::transform(row.begin(), row.end(), keys.begin(), KeyOf);
  std::int64_t sum = 0;
  // Many trees in lockstep; lanes beyond the last tree repeat it and are not counted.
  for (std::size_t first = 0; first < num_trees(); first += kLanes) {
    Walk walk;
    walk.keys.fill(keys.data());
    std::array<std::size_t, kLanes> begins{};
    std::array<const std::uint8_t*, kLanes> missing{};
    std::uint32_t depth = 0;
    for (std::size_t lane = 0; lane < kLanes; ++lane) {
      const std::size_t tree = std::min(first + lane, num_trees() - 1);
      begins[lane] = tree_begins_[tree];
      walk.nodes[lane] = nodes_.data() + begins[lane];
      missing[lane] = missing_goes_right_.data() + begins[lane];
      depth = std::max(depth, tree_depths_[tree]);
    }
    walk.DescendWithMissing(depth, missing);
    for (std::size_t lane = 0; lane < std::min(kLanes, num_trees() - first); ++lane) {
      sum += leaves_[begins[lane] + walk.at[lane]];
    }
  }
  return ToPrediction(sum);
}

// Tree after tree over one block of rows, so that a tree stays in the nearest cache.
void Forest::PredictBlock(std::span<const float> rows, std::span<double> predictions) const {
  const std::size_t num_rows = predictions.size();
  const std::size_t num_padded = (num_rows + kLanes - 1) / kLanes * kLanes;
  std::vector<std::int32_t> keys(num_padded * num_features_);
  std::transform(rows.begin(), rows.end(), keys.begin(), KeyOf);
  const bool has_missing = std::find(keys.begin(), keys.end(), kMissing) != keys.end();
  std::array<std::int64_t, kBlockRows> sums{};
  for (std::size_t tree = 0; tree < num_trees(); ++tree) {
    const std::size_t begin = tree_begins_[tree];
    for (std::size_t row = 0; row < num_padded; row += kLanes) {
      Walk walk;
      walk.nodes.fill(nodes_.data() + begin);
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        walk.keys[lane] = keys.data() + (row + lane) * num_features_;
      }
      if (has_missing) {
        std::array<const std::uint8_t*, kLanes> missing{};
        missing.fill(missing_goes_right_.data() + begin);
        walk.DescendWithMissing(tree_depths_[tree], missing);
      } else {
        walk.Descend(tree_depths_[tree]);
      }
      for (std::size_t lane = 0; lane < kLanes; ++lane) {
        sums[row + lane] += leaves_[begin + walk.at[lane]];
      }
    }
  }
  std::transform(predictions.begin(), predictions.end(), sums.begin(), predictions.begin(),
                 [this](double, std::int64_t sum) { return ToPrediction(sum); });
}

std::vector<double> Forest::PredictRows(std::span<const float> rows, int threads) const {
  ORRERY_CHECK(rows.size() % num_features_ == 0, "every row has every feature");
  std::vector<double> predictions(rows.size() / num_features_);
  const std::size_t num_blocks = (predictions.size() + kBlockRows - 1) / kBlockRows;
  ParallelFor(num_blocks, threads, [&](std::size_t block) {
    const std::size_t begin = block * kBlockRows;
    const std::size_t count = std::min(kBlockRows, predictions.size() - begin);
    PredictBlock(rows.subspan(begin * num_features_, count * num_features_),
                 std::span(predictions).subspan(begin, count));
  });
  return predictions;
}

Forest Forest::Rounded(double step) const {
  ORRERY_CHECK(step > 0 && std::isfinite(step) && step == std::ldexp(1.0, std::ilogb(step)),
               "leaves are rounded to multiples of a power of two");
  Forest rounded = *this;
  const double units = step / unit_;
  if (units <= 1) {
    return rounded;
  }
  for (std::int32_t& leaf : rounded.leaves_) {
    leaf = static_cast<std::int32_t>(std::nearbyint(leaf / units) * units);
  }
  return rounded;
}

double Forest::StepForError(double error) const {
  ORRERY_CHECK(error > 0, "an error is above 0");
  const double step = error * std::sqrt(12.0 / static_cast<double>(std::max(num_trees(), 1UL)));
  return std::ldexp(1.0, std::ilogb(step));
}

double Forest::LeafStep() const {
  std::uint32_t all_bits = 0;
  for (const std::int32_t leaf : leaves_) {
    all_bits |= static_cast<std::uint32_t>(leaf);
  }
  return all_bits == 0 ? unit_ : std::ldexp(unit_, std::countr_zero(all_bits));
}

std::optional<float> Forest::LeastThreshold(std::size_t feature) const {
  std::int32_t least = kAlwaysLeft;
  for (const Node& node : nodes_) {
    least = node.feature == feature ? std::min(least, node.threshold_key) : least;
  }
  return least == kAlwaysLeft ? std::nullopt : std::optional(ValueOf(least));
}

std::vector<Tree> Forest::Trees() const {
  std::vector<Tree> trees(num_trees());
  for (std::size_t tree = 0; tree < trees.size(); ++tree) {
    const std::size_t begin = tree_begins_[tree];
    for (std::size_t place = begin; place < tree_begins_[tree + 1]; ++place) {
      const Node& node = nodes_[place];
      if (node.threshold_key == kAlwaysLeft) {
        trees[tree].push_back({.value = leaves_[place] * unit_});
      } else {
        trees[tree].push_back({.left = node.left,
                               .right = node.left + 1U,
                               .feature = node.feature,
                               .threshold = ValueOf(node.threshold_key),
                               .missing_goes_left = missing_goes_right_[place] == 0});
      }
    }
  }
  return trees;
}

}  // namespace orrery::learn
