#include "orrery/learn/quantile_regression.h"

#include <vector>

#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

std::vector<QuantileRow> ConstantRows() {
  std::vector<QuantileRow> rows;
  for (int i = 0; i <= 100; ++i) {
    rows.push_back({.values = {1}, .target = i / 100.0});
  }
  return rows;
}

TEST(QuantileRegressionTest, AConstantIsTheQuantile) {
  EXPECT_NEAR(FitQuantile(ConstantRows(), 0.9)[0], 0.9, 0.02);
  EXPECT_NEAR(FitQuantile(ConstantRows(), 0.5)[0], 0.5, 0.02);
}

TEST(QuantileRegressionTest, WeightsCountLikeCopies) {
  // Three quarters of the weight at 0.2, one at 0.8: the median is the former.
  const std::vector<QuantileRow> rows{{.values = {1}, .target = 0.2, .weight = 3},
                                      {.values = {1}, .target = 0.8}};
  EXPECT_NEAR(FitQuantile(rows, 0.5)[0], 0.2, 0.02);
  EXPECT_NEAR(FitQuantile(rows, 0.9)[0], 0.8, 0.02);
}

// Targets of 0.1 + 0.5 x, exactly: so are all their quantiles.
TEST(QuantileRegressionTest, ALineIsFound) {
  std::vector<QuantileRow> rows;
  for (int i = 0; i <= 50; ++i) {
    const double x = i / 50.0;
    rows.push_back({.values = {1, x}, .target = 0.1 + 0.5 * x});
  }
  const std::vector<double> line = FitQuantile(rows, 0.9);
  EXPECT_NEAR(line[0], 0.1, 0.03);
  EXPECT_NEAR(line[1], 0.5, 0.03);
}

TEST(QuantileRegressionTest, WhatMakesTargetsSmallerMovesNothing) {
  std::vector<QuantileRow> rows;
  for (int i = 0; i <= 50; ++i) {
    const double x = i / 50.0;
    rows.push_back({.values = {1, x}, .target = 0.5 - 0.4 * x});
  }
  const std::vector<double> line = FitQuantile(rows, 0.9);
  EXPECT_DOUBLE_EQ(line[1], 0);
  EXPECT_GT(line[0], 0.4);
}

// The middles of three equal weights are at 1/6, 3/6 and 5/6.
TEST(QuantileRegressionTest, WeightedQuantilesInterpolateBetweenMiddles) {
  const std::vector<WeightedValue> values{{.value = 3}, {.value = 1}, {.value = 2}};
  EXPECT_NEAR(WeightedQuantile(values, 0.5), 2, 1e-12);
  EXPECT_NEAR(WeightedQuantile(values, 2.0 / 3), 2.5, 1e-12);
  EXPECT_NEAR(WeightedQuantile(values, 0), 1, 1e-12);
  EXPECT_NEAR(WeightedQuantile(values, 1), 3, 1e-12);
}

}  // namespace
}  // namespace orrery::learn
