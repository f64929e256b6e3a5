#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "orrery/base/value.h"

namespace orrery::analyze {

/// Durations of things of one sort, added up.
struct DurationTotal {
  std::int64_t count = 0;
  std::int64_t sum_ns = 0;
  std::int64_t min_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t max_ns = 0;
  double sum_of_squares_ns2 = 0;

  void Add(std::int64_t duration_ns) {
    ++count;
    sum_ns += duration_ns;
    min_ns = std::min(min_ns, duration_ns);
    max_ns = std::max(max_ns, duration_ns);
    sum_of_squares_ns2 += static_cast<double>(duration_ns) * static_cast<double>(duration_ns);
  }

  DurationTotal& operator+=(const DurationTotal& other) {
    count += other.count;
    sum_ns += other.sum_ns;
    min_ns = std::min(min_ns, other.min_ns);
    max_ns = std::max(max_ns, other.max_ns);
    sum_of_squares_ns2 += other.sum_of_squares_ns2;
    return *this;
  }

  [[nodiscard]] double MeanNs() const {
    return static_cast<double>(sum_ns) / static_cast<double>(count);
  }

  /// The standard deviation of the durations themselves (not an estimate for a larger set).
  [[nodiscard]] double DeviationNs() const {
    const double mean_ns = MeanNs();
    const double variance = sum_of_squares_ns2 / static_cast<double>(count) - mean_ns * mean_ns;
    return std::sqrt(std::max(variance, 0.0));
  }

  /// Sets count, sum_ns, mean_ns, min_ns, max_ns and std_ns; there must be a duration.
  Value& Describe(Value& row) const {
    return row.Set("count", count)
        .Set("sum_ns", sum_ns)
        .Set("mean_ns", MeanNs())
        .Set("min_ns", min_ns)
        .Set("max_ns", max_ns)
        .Set("std_ns", DeviationNs());
  }
};

}  // namespace orrery::analyze
