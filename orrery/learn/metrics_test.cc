#include "orrery/learn/metrics.h"

#include <cmath>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

using testing::ElementsAre;

// |errors| of 1, 5, 10 and 40 %: (1 + 5 + 10 + 40) / 4 = 14; the fourth root of
// 0.0104 * 0.0504 * 0.1004 * 0.4004 is 0.067752.
TEST(Metrics, MeanAndGeometricMeanOfErrors) {
  const std::vector<double> measured = {100, 100, 100, 100};
  const Evaluation figures = Evaluate(std::vector<double>{101, 95, 110, 60}, measured);
  EXPECT_EQ(figures.rows, 4);
  EXPECT_NEAR(figures.mape, 14.0, 1e-9);
  EXPECT_NEAR(figures.gmae, 6.7752, 5e-5);
  EXPECT_NEAR(figures.bias, (1 - 5 + 10 - 40) / 4.0, 1e-9);
  EXPECT_NEAR(figures.error_of_sum, (101 + 95 + 110 + 60) / 4.0 - 100, 1e-9);
  EXPECT_NEAR(figures.median, 7.5, 1e-9);
  // Position 0.95 * 3 = 2.85 between 10 and 40.
  EXPECT_NEAR(figures.p95, 10 + 0.85 * 30, 1e-9);
  EXPECT_EQ(figures.within_5, 50.0);
  EXPECT_EQ(figures.within_10, 75.0);
  EXPECT_EQ(figures.within_15, 75.0);
}

TEST(Metrics, OneRowWithoutErrorHalvesTheGeometricMean) {
  const std::vector<double> measured = {100, 100, 100, 100};
  const Evaluation figures = Evaluate(std::vector<double>{100, 95, 110, 60}, measured);
  EXPECT_NEAR(figures.mape, 13.75, 1e-9);
  EXPECT_NEAR(figures.gmae, 3.0004, 5e-5);
}

// 0 and 4.9 % in the first bin, 5 % begins the second, 400 % the last.
TEST(Metrics, CountsErrorsInBins) {
  const Evaluation figures =
      Evaluate(std::vector<double>{1, 1.049, 0.94, 5.5}, std::vector<double>{1, 1, 1, 1});
  EXPECT_THAT(figures.histogram, ElementsAre(2, 1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1));
}

// ln: measured 0 and 2 with mean 1, predicted 0 and 1: 1 - (0 + 1) / (1 + 1).
TEST(Metrics, RSquaredIsOfLogarithms) {
  const Evaluation figures =
      Evaluate(std::vector<double>{1, std::exp(1)}, std::vector<double>{1, std::exp(2)});
  EXPECT_NEAR(figures.r2_of_logs, 0.5, 1e-12);
}

TEST(Metrics, ErrorsOfLogarithmsAreThoseOfTimes) {
  const std::vector<double> predicted = {std::log(1.1), std::log(2)};
  const std::vector<double> measured = {0, std::log(4)};
  EXPECT_NEAR(MeanAbsolutePercentageOfLogs(predicted, measured), (10 + 50) / 2.0, 1e-9);
}

TEST(Metrics, WorstRowsComeFirstAndTiesInOrder) {
  const std::vector<double> measured = {1, 1, 1, 1};
  EXPECT_THAT(WorstRows(std::vector<double>{1.5, 1, 3, 0.5}, measured, 3), ElementsAre(2, 0, 3));
}

TEST(Metrics, NothingIsNotZero) {
  EXPECT_TRUE(std::isnan(Evaluate({}, {}).mape));
}

}  // namespace
}  // namespace orrery::learn
