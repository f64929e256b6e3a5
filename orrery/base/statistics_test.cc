#include "orrery/base/statistics.h"

#include <array>

#include <gtest/gtest.h>

namespace orrery {
namespace {

TEST(StatisticsTest, MedianOfAnEvenNumberIsTheMeanOfTheTwoInTheMiddle) {
  EXPECT_EQ(Median(std::array{7.0, 1.0, 3.0}), 3.0);
  EXPECT_EQ(Median(std::array{9.0, 1.0, 4.0, 2.0}), 3.0);
}

// Of 1, 2, 3, 4, 100 the distances from 3 are 2, 1, 0, 1, 97; of 1, 2, 4, 100 from 3: 2, 1, 1, 97.
TEST(StatisticsTest, MedianAbsoluteDeviationForgetsTheOutlier) {
  EXPECT_EQ(MedianAbsoluteDeviation(std::array{1.0, 2.0, 3.0, 4.0, 100.0}), 1.0);
  EXPECT_EQ(MedianAbsoluteDeviation(std::array{1.0, 2.0, 4.0, 100.0}), 1.5);
}

// Points on y = 1 + 2x but for the last: of the ten slopes six are 2.
TEST(StatisticsTest, TheilSenSlopeForgetsTheOutlier) {
  EXPECT_EQ(
      TheilSenSlope(std::array{0.0, 1.0, 2.0, 3.0, 4.0}, std::array{1.0, 3.0, 5.0, 7.0, 90.0}),
      2.0);
}

TEST(StatisticsTest, PointsAboveEachOtherHaveNoSlope) {
  EXPECT_EQ(TheilSenSlope(std::array{1.0, 1.0}, std::array{0.0, 5.0}), 0.0);
}

}  // namespace
}  // namespace orrery
