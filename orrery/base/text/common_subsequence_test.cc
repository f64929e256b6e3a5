#include "orrery/base/text/common_subsequence.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace {

using Values = std::vector<std::uint64_t>;

// The textbook table, as a slow oracle.
std::size_t LengthByTable(const Values& first, const Values& second) {
  std::vector<std::vector<std::size_t>> length(first.size() + 1,
                                               std::vector<std::size_t>(second.size() + 1));
  for (std::size_t i = 1; i <= first.size(); ++i) {
    for (std::size_t j = 1; j <= second.size(); ++j) {
      length[i][j] = first[i - 1] == second[j - 1] ? length[i - 1][j - 1] + 1
                                                   : std::max(length[i - 1][j], length[i][j - 1]);
    }
  }
  return length[first.size()][second.size()];
}

// 1 2 3 4 5 against 1 2 9 4 5: all but the 3 and the 9.
TEST(CommonSubsequenceTest, LeavesOutWhatDiffers) {
  const auto pairs = LongestCommonSubsequence(Values{1, 2, 3, 4, 5}, Values{1, 2, 9, 4, 5}, 2);

  ASSERT_TRUE(pairs.has_value());
  EXPECT_THAT(*pairs, testing::ElementsAre(IndexPair{0, 0}, IndexPair{1, 1}, IndexPair{3, 3},
                                           IndexPair{4, 4}));
}

TEST(CommonSubsequenceTest, GivesUpBeyondTheAllowedEdits) {
  EXPECT_FALSE(LongestCommonSubsequence(Values{1, 2, 3}, Values{1, 9, 3}, 1).has_value());
}

TEST(CommonSubsequenceTest, NothingIsCommonWithAnEmptySequence) {
  const auto pairs = LongestCommonSubsequence(Values{1, 2}, Values{}, 5);

  ASSERT_TRUE(pairs.has_value());
  EXPECT_TRUE(pairs->empty());
}

RC_GTEST_PROP(CommonSubsequenceProperty, IsCommonInOrderAndAsLongAsTheTableSays, ()) {
  const auto value = rc::gen::inRange<std::uint64_t>(0, 4);
  const auto first = *rc::gen::container<Values>(value);
  const auto second = *rc::gen::container<Values>(value);

  const auto pairs = LongestCommonSubsequence(first, second, first.size() + second.size());

  RC_ASSERT(pairs.has_value());
  RC_ASSERT(pairs->size() == LengthByTable(first, second));
  for (std::size_t i = 0; i < pairs->size(); ++i) {
    RC_ASSERT(first[(*pairs)[i].first] == second[(*pairs)[i].second]);
    if (i > 0) {  // RC_ASSERT evaluates both sides of ||
      RC_ASSERT((*pairs)[i - 1].first < (*pairs)[i].first);
      RC_ASSERT((*pairs)[i - 1].second < (*pairs)[i].second);
    }
  }
}

}  // namespace
}  // namespace orrery
