#include "orrery/base/math/statistics.h"

#include <cmath>
#include <limits>
#include <vector>

#include <gtest/gtest.h>

namespace orrery {
namespace {

using Values = std::vector<double>;

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

TEST(StatisticsTest, MeanIsTheSumOverTheCount) {
  EXPECT_EQ(Mean(Values{1, 2, 6}), 3);
}

// Added from left to right in doubles, 1 + 1e100 + 1 - 1e100 is 0.
TEST(StatisticsTest, MeanKeepsWhatSimpleAdditionLoses) {
  EXPECT_EQ(Mean(Values{1, 1e100, 1, -1e100}), 0.5);
}

TEST(StatisticsTest, MeanOfInfiniteValuesIsInfinite) {
  EXPECT_EQ(Mean(Values{1, std::numeric_limits<double>::infinity(), 2}),
            std::numeric_limits<double>::infinity());
}

TEST(StatisticsTest, MedianIsTheMiddleOrTheMeanOfTheTwoMiddleValues) {
  EXPECT_EQ(Median(Values{9, 1, 5}), 5);
  EXPECT_EQ(Median(Values{9, 1, 5, 7}), 6);
  EXPECT_EQ(Median(Values{4}), 4);
}

// Position 0.25 * (5 - 1) = 1 is a value; 0.9 * 4 = 3.6 lies 0.6 of the way from 40 to 50.
TEST(StatisticsTest, QuantileInterpolatesBetweenNeighbours) {
  const Values values{50, 10, 40, 20, 30};

  EXPECT_EQ(Quantile(values, 0), 10);
  EXPECT_EQ(Quantile(values, 0.25), 20);
  EXPECT_DOUBLE_EQ(Quantile(values, 0.9), 46);
  EXPECT_EQ(Quantile(values, 1), 50);
}

// Median 3; distances 2, 1, 0, 1, 97 have the median 1.
TEST(StatisticsTest, MedianAbsoluteDeviationIgnoresAnOutlier) {
  EXPECT_EQ(MedianAbsoluteDeviation(Values{1, 2, 3, 4, 100}), 1);
}

// y = 3x + 1 but for one point: of the ten pairs, four touch it, so the median slope is 3.
TEST(StatisticsTest, TheilSenSlopeIgnoresAnOutlier) {
  EXPECT_DOUBLE_EQ(TheilSenSlope(Values{0, 1, 2, 3, 4}, Values{1, 4, 700, 10, 13}), 3);
}

TEST(StatisticsTest, TheilSenSlopeSkipsPairsWithEqualX) {
  EXPECT_DOUBLE_EQ(TheilSenSlope(Values{1, 1, 2}, Values{0, 2, 4}), 3);  // slopes 4 and 2
  EXPECT_TRUE(std::isnan(TheilSenSlope(Values{1, 1}, Values{0, 2})));
}

TEST(StatisticsTest, WithoutValuesOrWithNanTheResultIsUnknown) {
  for (const Values& values : {Values{}, Values{1, kNan, 2}}) {
    EXPECT_TRUE(std::isnan(Mean(values)));
    EXPECT_TRUE(std::isnan(Median(values)));
    EXPECT_TRUE(std::isnan(MedianAbsoluteDeviation(values)));
    EXPECT_TRUE(std::isnan(TheilSenSlope(values, values)));
  }
}

TEST(StatisticsDeathTest, AQuantileOutsideTheRangeIsOurMistake) {
  EXPECT_DEATH(static_cast<void>(Quantile(Values{1}, 1.5)), "between 0 and 1");
}

TEST(StatisticsTest, StandardDeviationDividesByTheNumberOfValues) {
  EXPECT_DOUBLE_EQ(StandardDeviation(std::vector<double>{1, 3}), 1);
  EXPECT_TRUE(std::isnan(StandardDeviation({})));
}

// Below 2.5 lie 2 of 4 values of the first sample and 2 of 2 of the second: 1/2 apart, and nowhere
// further.
TEST(StatisticsTest, KolmogorovSmirnovIsTheLargestGapBetweenDistributions) {
  EXPECT_DOUBLE_EQ(KolmogorovSmirnovDistance(Values{1, 2, 3, 4}, Values{2, 1}), 0.5);
  EXPECT_DOUBLE_EQ(KolmogorovSmirnovDistance(Values{1, 2}, Values{3}), 1);
  EXPECT_DOUBLE_EQ(KolmogorovSmirnovDistance(Values{1, 1, 2}, Values{1, 1, 2}), 0);
  EXPECT_TRUE(std::isnan(KolmogorovSmirnovDistance(Values{}, Values{1})));
}

// After the value 1 the first has 3/4 of its values below, the second 1/2.
TEST(StatisticsTest, KolmogorovSmirnovComparesAfterAllEqualValues) {
  EXPECT_DOUBLE_EQ(KolmogorovSmirnovDistance(Values{1, 1, 1, 2}, Values{1, 2}), 0.25);
}

// Of 3, 1, 3, 2 the two threes are third and fourth.
TEST(StatisticsTest, EqualValuesShareTheMeanOfTheirRanks) {
  EXPECT_EQ(Ranks(Values{3, 1, 3, 2}), (Values{3.5, 1, 3.5, 2}));
  EXPECT_EQ(Ranks(Values{5, 5, 5}), (Values{2, 2, 2}));
  EXPECT_TRUE(Ranks({}).empty());
}

// Without ties 1 - 6 Σd² / (n (n² - 1)): ranks 1 2 3 4 5 and 2 1 4 3 5 have Σd² = 4, so that it is
// 1 - 24 / 120.
TEST(StatisticsTest, SpearmanIsTheCorrelationOfRanks) {
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(Values{1, 2, 3, 4, 5}, Values{20, 10, 400, 30, 5000}), 0.8);
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(Values{1, 2, 3}, Values{1, 10, 11}), 1);
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(Values{1, 2, 3}, Values{3, 2, -9}), -1);
}

// Ranks 1.5 1.5 3 4 and 1 2 3 4, less their mean 2.5: -1 -1 0.5 1.5 and -1.5 -0.5 0.5 1.5.
// Covariance 1.5 + 0.5 + 0.25 + 2.25 = 4.5; variances 4.5 and 5: 4.5 / sqrt(22.5).
TEST(StatisticsTest, SpearmanOfTiesIsThatOfTheirMeanRanks) {
  EXPECT_DOUBLE_EQ(SpearmanCorrelation(Values{7, 7, 8, 9}, Values{1, 2, 3, 4}),
                   4.5 / std::sqrt(22.5));
  EXPECT_TRUE(std::isnan(SpearmanCorrelation(Values{1, 1, 1}, Values{1, 2, 3})));
  EXPECT_TRUE(std::isnan(SpearmanCorrelation(Values{}, Values{})));
}

}  // namespace
}  // namespace orrery
