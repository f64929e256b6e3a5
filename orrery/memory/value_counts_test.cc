#include <algorithm>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/math/statistics.h"
#include "orrery/memory/working_set.h"

namespace orrery::memory {
namespace {

BytesSpread SpreadOf(const std::vector<std::int64_t>& values) {
  ValueCounts counts;
  for (const std::int64_t value : values) {
    counts.Add(value);
  }
  return counts.Spread();
}

// Values 1 to 5: median 3; 90 % lies at position 0.9 * 4 = 3.6, between 4 and 5: 4.6.
TEST(ValueCounts, PercentilesInterpolate) {
  EXPECT_EQ(
      SpreadOf({5, 3, 1, 4, 2}),
      (BytesSpread{.count = 5, .smallest = 1, .mean = 3, .median = 3, .p90 = 4.6, .largest = 5}));
}

TEST(ValueCounts, WithoutValuesAllIsZero) {
  EXPECT_EQ(SpreadOf({}), BytesSpread());
}

// 0 three times, 8 once: the median lies between two zeros; 90 % lies at position 0.9 * 3 = 2.7,
// between 0 and 8: 5.6.
TEST(ValueCounts, EqualValuesCountEachTime) {
  const BytesSpread spread = SpreadOf({0, 0, 8, 0});
  EXPECT_EQ(spread.count, 4);
  EXPECT_EQ(spread.mean, 2);
  EXPECT_EQ(spread.median, 0);
  EXPECT_DOUBLE_EQ(spread.p90, 5.6);
}

RC_GTEST_PROP(ValueCounts, IsTheSpreadOfTheValuesOneByOne, ()) {
  const auto values = *rc::gen::nonEmpty(
      rc::gen::container<std::vector<std::int64_t>>(rc::gen::inRange<std::int64_t>(0, 20)));
  const std::vector<double> numbers(values.begin(), values.end());
  const BytesSpread spread = SpreadOf(values);
  RC_ASSERT(spread.count == static_cast<std::int64_t>(values.size()));
  RC_ASSERT(spread.smallest == std::ranges::min(numbers));
  RC_ASSERT(spread.largest == std::ranges::max(numbers));
  RC_ASSERT(spread.mean == Mean(numbers));
  RC_ASSERT(spread.median == Median(numbers));
  RC_ASSERT(spread.p90 == Quantile(numbers, 0.9));
}

}  // namespace
}  // namespace orrery::memory
