#include "orrery/learn/least_squares.h"

#include <cmath>
#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

/// y = 3 + 2 x at x = 0 … 19, but for rows that are far off.
Residuals LineWith(const std::vector<std::size_t>& outliers) {
  return [outliers](std::span<const double> parameters) {
    std::vector<double> residuals;
    for (std::size_t x = 0; x < 20; ++x) {
      const double measured = 3 + 2 * static_cast<double>(x);
      residuals.push_back(parameters[0] + parameters[1] * static_cast<double>(x) - measured);
    }
    for (const std::size_t row : outliers) {
      residuals[row] += 100;
    }
    return residuals;
  };
}

const std::vector<double> kStart = {0, 0};
const std::vector<double> kLeast = {-10, -10};
const std::vector<double> kMost = {10, 10};

TEST(LeastSquares, FindsALine) {
  const LeastSquaresFit fit = FitLeastSquares(LineWith({}), kStart, kLeast, kMost);
  EXPECT_NEAR(fit.parameters[0], 3, 1e-4);
  EXPECT_NEAR(fit.parameters[1], 2, 1e-5);
  EXPECT_NEAR(fit.loss, 0, 1e-6);
}

TEST(LeastSquares, OutliersHardlyMoveIt) {
  // Plain least squares would move the line by 10 (two of twenty rows are off by 100).
  const LeastSquaresFit fit = FitLeastSquares(LineWith({4, 15}), kStart, kLeast, kMost);
  EXPECT_NEAR(fit.parameters[0], 3, 0.05);
  EXPECT_NEAR(fit.parameters[1], 2, 0.005);
}

TEST(LeastSquares, StaysWithinBounds) {
  // With the slope held at 1 the rows ask for an intercept of their middle: 3 + 9.5.
  const std::vector<double> most = {20, 1};
  const LeastSquaresFit fit =
      FitLeastSquares(LineWith({}), kStart, kLeast, most, {.outlier_scale = 1000});
  EXPECT_DOUBLE_EQ(fit.parameters[1], 1);
  EXPECT_NEAR(fit.parameters[0], 12.5, 0.01);
}

TEST(LeastSquares, FollowsACurvedValley) {
  // Rosenbrock's function: residuals 10 (y - x²) and 1 - x, least at (1, 1).
  const Residuals rosenbrock = [](std::span<const double> at) {
    return std::vector<double>{10 * (at[1] - at[0] * at[0]), 1 - at[0]};
  };
  const std::vector<double> start = {-1.2, 1};
  const LeastSquaresFit fit = FitLeastSquares(rosenbrock, start, kLeast, kMost,
                                              {.outlier_scale = 100, .max_iterations = 500});
  EXPECT_NEAR(fit.parameters[0], 1, 1e-4);
  EXPECT_NEAR(fit.parameters[1], 1, 1e-4);
}

TEST(LeastSquares, AParameterThatDoesNothingStays) {
  const Residuals first_alone = [](std::span<const double> at) {
    return std::vector<double>{at[0] - 2, 2 * (at[0] - 2)};
  };
  const LeastSquaresFit fit = FitLeastSquares(first_alone, kStart, kLeast, kMost);
  EXPECT_NEAR(fit.parameters[0], 2, 1e-5);
  EXPECT_DOUBLE_EQ(fit.parameters[1], 0);
}

}  // namespace
}  // namespace orrery::learn
