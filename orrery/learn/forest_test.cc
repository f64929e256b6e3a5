#include "orrery/learn/forest.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/learn/data_set.h"

namespace orrery::learn {
namespace {

using testing::ElementsAre;

constexpr float kNaN = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

// x0 < 0.5 ? 1 : (x1 < -2 ? 2 : 4); missing x0 goes right, missing x1 left.
Tree SmallTree() {
  return {{.left = 1, .right = 2, .feature = 0, .threshold = 0.5F, .missing_goes_left = false},
          {.value = 1},
          {.left = 3, .right = 4, .feature = 1, .threshold = -2},
          {.value = 2},
          {.value = 4}};
}

Forest SmallForest() {
  const std::vector<Tree> trees = {SmallTree(), {{.value = 0.25}}};
  return *Forest::FromTrees(10, 2, trees);
}

TEST(Forest, AddsTheLeavesOfAllTreesToTheBase) {
  const Forest forest = SmallForest();
  EXPECT_EQ(forest.Predict(std::vector<float>{0.4F, 7}), 11.25);
  EXPECT_EQ(forest.Predict(std::vector<float>{0.5F, -3}), 12.25);
  EXPECT_EQ(forest.Predict(std::vector<float>{0.6F, -2}), 14.25);
}

TEST(Forest, MissingAndInfiniteValuesFindALeaf) {
  const std::vector<float> rows = {kNaN, 0, 1, kNaN, -kInfinity, 0, kInfinity, kInfinity};
  EXPECT_THAT(SmallForest().PredictRows(rows), ElementsAre(14.25, 12.25, 11.25, 14.25));
}

TEST(Forest, NegativeZeroIsZero) {
  const std::vector<Tree> trees = {
      {{.left = 1, .right = 2, .threshold = 0.0F}, {.value = 1}, {.value = 2}}};
  const Forest forest = *Forest::FromTrees(0, 1, trees);
  EXPECT_THAT(forest.PredictRows(std::vector<float>{-0.0F, 0.0F, -1e-30F}), ElementsAre(2, 2, 1));
}

TEST(Forest, RefusesWhatIsNoTree) {
  const std::vector<std::pair<Tree, std::string>> cases = {
      {{}, "a decision tree has from 1 to 65535 nodes"},
      {{{.left = 1, .right = 9}, {}}, "a node of a decision tree is damaged"},
      {{{.left = 1, .right = 2, .feature = 2}, {}, {}}, "a node of a decision tree is damaged"},
      {{{.left = 1, .right = 1}, {}}, "a node of a decision tree has two parents"},
      {{{.left = 1, .right = 2}, {.left = 1, .right = 2}, {}},
       "a node of a decision tree has two parents"},
  };
  for (const auto& [tree, message] : cases) {
    const auto forest = Forest::FromTrees(0, 2, std::span(&tree, 1));
    ASSERT_FALSE(forest);
    EXPECT_EQ(forest.error().message(), message);
  }
}

// Splits leaves at random until there are `num_leaves`.
Tree RandomTree(Random& random, std::size_t num_leaves) {
  Tree tree = {{.value = random.Uniform() - 0.5}};
  for (std::size_t leaves = 1; leaves < num_leaves; ++leaves) {
    std::size_t leaf = random.Below(tree.size());
    while (!tree[leaf].IsLeaf()) {
      leaf = (leaf + 1) % tree.size();
    }
    const auto left = static_cast<std::uint32_t>(tree.size());
    tree[leaf] = {.left = left,
                  .right = left + 1,
                  .feature = static_cast<std::uint32_t>(random.Below(3)),
                  .threshold = static_cast<float>(random.Uniform() - 0.5),
                  .missing_goes_left = random.Below(2) == 0};
    tree.push_back({.value = random.Uniform() - 0.5});
    tree.push_back({.value = random.Uniform() - 0.5});
  }
  return tree;
}

double WalkSlowly(const Tree& tree, std::span<const float> row) {
  std::uint32_t at = 0;
  while (!tree[at].IsLeaf()) {
    const float value = row[tree[at].feature];
    const bool left = std::isnan(value) ? tree[at].missing_goes_left : value < tree[at].threshold;
    at = left ? tree[at].left : tree[at].right;
  }
  return tree[at].value;
}

struct Case {
  std::vector<Tree> trees;
  std::vector<float> rows;
};

Case DrawCase() {
  Random random(*rc::gen::arbitrary<std::uint64_t>());
  Case drawn;
  drawn.trees.resize(random.Below(20));
  for (Tree& tree : drawn.trees) {
    tree = RandomTree(random, 1 + random.Below(40));
  }
  drawn.rows.resize(3 * random.Below(200));
  const bool has_missing = random.Below(2) == 0;
  for (float& value : drawn.rows) {
    value = has_missing && random.Below(5) == 0 ? kNaN : static_cast<float>(random.Uniform() - 0.5);
  }
  return drawn;
}

RC_GTEST_PROP(Forest, FastEqualsSlow, ()) {
  const Case drawn = DrawCase();
  const Forest forest = *Forest::FromTrees(2, 3, drawn.trees);
  const std::vector<double> predictions = forest.PredictRows(drawn.rows);
  for (std::size_t row = 0; row < predictions.size(); ++row) {
    const std::span<const float> features = std::span(drawn.rows).subspan(3 * row, 3);
    double expected = 2;
    for (const Tree& tree : drawn.trees) {
      expected += WalkSlowly(tree, features);
    }
    // 20 trees, each off by at most half of 2^-30.
    RC_ASSERT(std::abs(predictions[row] - expected) < 2e-8);
    RC_ASSERT(predictions[row] == forest.Predict(features));
  }
  RC_ASSERT(predictions == forest.PredictRows(drawn.rows, 2));
}

RC_GTEST_PROP(Forest, ItsTreesMakeItAgain, ()) {
  const Case drawn = DrawCase();
  const Forest forest = Forest::FromTrees(2, 3, drawn.trees)->Rounded(0x1p-12);
  const Forest again = *Forest::FromTrees(2, 3, forest.Trees());
  RC_ASSERT(again.Trees() == forest.Trees());
  RC_ASSERT(again.PredictRows(drawn.rows) == forest.PredictRows(drawn.rows));
}

// 1, 2, 4 and 0.25 are multiples of 0.25; rounded to 0.5, the 0.25 becomes 0 (ties to even).
TEST(Forest, RoundsLeaves) {
  const Forest forest = SmallForest();
  EXPECT_EQ(forest.LeafStep(), 0.25);
  EXPECT_EQ(forest.Rounded(0.125).Predict(std::vector<float>{0, 0}), 11.25);
  EXPECT_EQ(forest.Rounded(0.5).Predict(std::vector<float>{0, 0}), 11.0);
  EXPECT_EQ(forest.Rounded(0.5).LeafStep(), 1.0);
}

TEST(Forest, SaysWhereAFeatureIsSplitFirst) {
  const std::vector<Tree> trees = {SmallTree(),
                                   {{.left = 1, .right = 2, .threshold = 0.25F}, {}, {}}};
  const Forest forest = *Forest::FromTrees(0, 3, trees);
  EXPECT_EQ(forest.LeastThreshold(0), 0.25F);
  EXPECT_EQ(forest.LeastThreshold(1), -2.0F);
  EXPECT_EQ(forest.LeastThreshold(2), std::nullopt);
}

// Two trees: step · √(2 / 12) ≤ 0.01 holds for 0.0244, so for 2^-6 = 0.0156 and not for 2^-5.
TEST(Forest, ChoosesTheStepByTheErrorOfASum) {
  EXPECT_EQ(SmallForest().StepForError(0.01), 0x1p-6);
}

}  // namespace
}  // namespace orrery::learn
