#include "orrery/calibrate/scalar_population.h"

#include <cmath>
#include <cstddef>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/workload/job/framework.h"

namespace orrery::calibrate {
namespace {

// Places of scalars (workload::FittedScalars).
constexpr std::size_t kGemmRate = 0;
constexpr std::size_t kMemoryRate = 2;

/// A step that is all GEMMs: a rate that is higher by 1 % makes it 1 % shorter.
LinearRow GemmRow(double log_ratio) {
  LinearRow row{.log_ratio = log_ratio};
  row.slopes[kGemmRate] = -1;
  return row;
}

LinearRows Framework(std::size_t count, double log_ratio) {
  return {.around = ExpectedScalars(), .rows = std::vector<LinearRow>(count, GemmRow(log_ratio))};
}

double GemmRateOf(const ScalarSolution& solution, std::size_t framework) {
  return solution.frameworks[framework][kGemmRate];
}

TEST(ScalarPopulationTest, AResidualFollowsTheScalarsByItsSlopes) {
  LinearRows rows;
  rows.around.fill(1);
  LinearRow row{.log_ratio = 0.3};
  row.slopes[kGemmRate] = -1;
  row.slopes[kMemoryRate] = -0.5;
  ScalarVector scalars = rows.around;
  scalars[kGemmRate] += 0.1;
  scalars[kMemoryRate] += 0.2;

  EXPECT_NEAR(rows.Residual(row, scalars), 0.3 - 0.1 - 0.5 * 0.2, 1e-12);
}

TEST(ScalarPopulationTest, TheMeanErrorWeighsRows) {
  LinearRows rows{.around = {}, .rows = {{.log_ratio = std::log(1.1), .weight = 1}, {.weight = 3}}};
  EXPECT_NEAR(rows.MeanError({}), 0.1 / 4, 1e-12);
}

TEST(ScalarPopulationTest, ScalarsSurviveAFramework) {
  workload::Framework framework;
  const ScalarVector scalars = ExpectedScalars();
  SetScalars(scalars, framework);
  const ScalarVector read = ScalarsOf(framework);
  for (std::size_t i = 0; i < scalars.size(); ++i) {
    EXPECT_NEAR(read[i], scalars[i], 1e-12);
  }
}

TEST(ScalarPopulationTest, AFrameworkWithoutRowsIsThePopulationsMean) {
  const ScalarSolution solution =
      SolvePopulation(std::vector{Framework(40, -0.1), Framework(0, 0)});
  for (std::size_t i = 0; i < solution.mean.size(); ++i) {
    EXPECT_NEAR(solution.frameworks[1][i], solution.mean[i], 0.02);
  }
}

// Predicted e^-0.1 of what was measured: GEMMs are slower by a factor of e^0.1, and only they.
TEST(ScalarPopulationTest, ManyRowsDecideAboutTheirFramework) {
  const LinearRows rows = Framework(40, -0.1);
  const ScalarSolution solution = SolvePopulation(std::vector{rows});
  EXPECT_NEAR(GemmRateOf(solution, 0), rows.around[kGemmRate] - 0.1, 0.01);
  EXPECT_NEAR(solution.frameworks[0][kMemoryRate], rows.around[kMemoryRate], 1e-6);
}

TEST(ScalarPopulationTest, FewRowsStayNearerToThePopulation) {
  const double before = ExpectedScalars()[kGemmRate];
  const double of_one = GemmRateOf(SolvePopulation(std::vector{Framework(1, -0.06)}), 0);
  const double of_many = GemmRateOf(SolvePopulation(std::vector{Framework(40, -0.06)}), 0);
  EXPECT_LT(of_one, before);
  EXPECT_GT(of_one, of_many);
}

TEST(ScalarPopulationTest, AnOutlierIsHeldBack) {
  LinearRows rows = Framework(40, -0.05);
  const double without = GemmRateOf(SolvePopulation(std::vector{rows}), 0);
  rows.rows.push_back(GemmRow(-2));
  EXPECT_NEAR(GemmRateOf(SolvePopulation(std::vector{rows}), 0), without, 0.01);
}

// Beyond a reach of 0.2 nothing is known to be linear.
TEST(ScalarPopulationTest, ScalarsStayWithinReachOfTheirLinearisation) {
  const LinearRows rows = Framework(40, -0.5);
  EXPECT_NEAR(GemmRateOf(SolvePopulation(std::vector{rows}), 0), rows.around[kGemmRate] - 0.2,
              1e-9);
}

TEST(ScalarPopulationTest, FrameworksThatDifferMakeAWiderPopulation) {
  const auto deviation = [](double first, double second) {
    return SolvePopulation(std::vector{Framework(40, first), Framework(40, second)})
        .population.deviation[kGemmRate];
  };
  EXPECT_GT(deviation(-0.15, 0.15), deviation(0.05, 0.05) + 0.02);
}

}  // namespace
}  // namespace orrery::calibrate
