#pragma once

#include <span>
#include <vector>

namespace orrery {

// All functions give the same bits for the same values in the same order. Without values, or with
// a NaN among them, the result is NaN: unknown is not zero.

/// Returns the arithmetic mean (compensated summation, so the order hardly matters).
[[nodiscard]] double Mean(std::span<const double> values);

/// Returns the middle value, or the mean of the two middle ones.
[[nodiscard]] double Median(std::span<const double> values);

/// Returns the value below which the share `q` (0 to 1) lies: linear interpolation between the
/// sorted values at position q * (n - 1), as NumPy does by default.
[[nodiscard]] double Quantile(std::span<const double> values, double q);

/// Returns the median of the absolute distances from the median, without the factor 1.4826 that
/// would estimate a standard deviation.
[[nodiscard]] double MedianAbsoluteDeviation(std::span<const double> values);

/// Returns the root mean square distance from the mean (divides by n).
[[nodiscard]] double StandardDeviation(std::span<const double> values);

/// Returns the median slope over all pairs of points with different x (Theil-Sen): a slope that
/// is robust against one outlier in four. Costs O(n²) time and memory; NaN without such a pair.
[[nodiscard]] double TheilSenSlope(std::span<const double> x, std::span<const double> y);

/// Returns the rank of each value, 1 for the smallest; equal values share the mean of their ranks.
/// No value may be NaN.
[[nodiscard]] std::vector<double> Ranks(std::span<const double> values);

/// Returns the correlation of the ranks of pairs of values, -1 to 1 (Spearman); NaN where all
/// values of one side are equal, since they have no order.
[[nodiscard]] double SpearmanCorrelation(std::span<const double> x, std::span<const double> y);

/// Returns the largest difference between the cumulative distributions of two samples, 0 to 1
/// (Kolmogorov and Smirnov).
[[nodiscard]] double KolmogorovSmirnovDistance(std::span<const double> a,
                                               std::span<const double> b);

}  // namespace orrery
