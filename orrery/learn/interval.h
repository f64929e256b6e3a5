#pragma once

#include <cmath>

namespace orrery::learn {

/// The interval that is expected to contain a measured time in four of five cases.
struct TimeInterval {
  double low_s = 0;
  double high_s = 0;

  [[nodiscard]] bool Contains(double seconds) const {
    return low_s <= seconds && seconds <= high_s;
  }
};

/// Around a predicted time whose logarithm is off by `deviation`, normally distributed.
[[nodiscard]] inline TimeInterval IntervalAround(double seconds, double deviation) {
  constexpr double kFourOfFive = 1.2816;  // standard deviations
  const double factor = std::exp(kFourOfFive * deviation);
  return {.low_s = seconds / factor, .high_s = seconds * factor};
}

}  // namespace orrery::learn
