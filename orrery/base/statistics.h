#pragma once

#include <span>

namespace orrery {

/// Returns the middle value, of an even number of values the mean of the two middle ones. There
/// must be one.
[[nodiscard]] double Median(std::span<const double> values);

/// Returns the median distance from the median, unscaled. There must be a value.
[[nodiscard]] double MedianAbsoluteDeviation(std::span<const double> values);

/// Returns the Theil-Sen slope of y over x: the median of the slopes of all pairs of points with
/// different x, and 0 when there is no such pair. Costs the square of the number of points.
[[nodiscard]] double TheilSenSlope(std::span<const double> x, std::span<const double> y);

}  // namespace orrery
