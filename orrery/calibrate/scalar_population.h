#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <vector>

#include "orrery/workload/job/framework.h"

namespace orrery::calibrate {

/// Logarithms of the fitted scalars.
using ScalarVector = std::array<double, workload::kNumScalars>;

[[nodiscard]] ScalarVector ScalarsOf(const workload::Framework& framework);
void SetScalars(const ScalarVector& scalars, workload::Framework& framework);

/// The beginning of fits: the expected scalars of frameworks before any row is seen.
[[nodiscard]] ScalarVector ExpectedScalars();

/// Steps of finite differences, within which predictions are taken to be linear.
[[nodiscard]] ScalarVector ScalarSteps();

/// One row: ln(predicted / measured), and how that follows each scalar.
struct LinearRow {
  double log_ratio = 0;
  ScalarVector slopes = {};
  double weight = 1;
};

/// The rows of one framework as a linear least-squares problem.
struct LinearRows {
  ScalarVector around = {};  // the scalars that ratios and slopes are of
  std::vector<LinearRow> rows = {};

  /// ln(predicted / measured) of a row with other scalars.
  [[nodiscard]] double Residual(const LinearRow& row, const ScalarVector& scalars) const;

  /// Mean |error| of all rows, relative.
  [[nodiscard]] double MeanError(const ScalarVector& scalars) const;
};

/// The distribution of scalars over frameworks, and the scalars of each.
struct ScalarSolution {
  workload::ScalarPopulation population;
  ScalarVector mean = {};
  std::vector<ScalarVector> frameworks = {};  // in the order of the rows
};

/// Solves for all frameworks at once by EM for a linear Gaussian model; outliers are held back.
/// Scalars stay within reach of what their rows are linear around.
[[nodiscard]] ScalarSolution SolvePopulation(std::span<const LinearRows> frameworks);

}  // namespace orrery::calibrate
