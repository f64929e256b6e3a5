#pragma once

#include <functional>
#include <span>
#include <vector>

namespace orrery::learn {

/// The residuals of all rows at given parameters; always as many.
using Residuals = std::function<std::vector<double>(std::span<const double> parameters)>;

struct LeastSquaresOptions {
  /// Residuals much above this count by their size instead of its square (2(√(1 + r²) − 1)).
  double outlier_scale = 0.05;
  int max_iterations = 200;
  /// Stops when a step lowers the loss by less than this share of it.
  double tolerance = 1e-10;
};

struct LeastSquaresFit {
  std::vector<double> parameters;
  double loss = 0;
  int iterations = 0;
};

/// Finds parameters within [least, most] that make the residuals small, from a start: the method
/// of Levenberg and Marquardt with finite differences and weights that bound the influence of
/// outliers. Finds a local minimum; the same input gives the same bits. For few parameters and a
/// function without known derivatives. (Eigen's own solver is in its unsupported part and has
/// neither bounds nor outlier weights.)
[[nodiscard]] LeastSquaresFit FitLeastSquares(const Residuals& residuals,
                                              std::span<const double> start,
                                              std::span<const double> least,
                                              std::span<const double> most,
                                              const LeastSquaresOptions& options = {});

}  // namespace orrery::learn
