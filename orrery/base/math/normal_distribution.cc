#include "orrery/base/math/normal_distribution.h"

#include <cmath>
#include <cstdint>
#include <numbers>

#include "orrery/base/check.h"

namespace orrery {
double NormalQuantile(double p) {
  ORRERY_CHECK(p > 0 && p < 1, "a probability");
  // Abramowitz and Stegun 26.2.23, good to 4.5e-4, then Halley's steps to the last digits.
  const double tail = p < 0.5 ? p : 1 - p;
  const double t = std::sqrt(-2 * std::log(tail));
  const double distance = t - (2.515517 + t * (0.802853 + t * 0.010328)) /
                                  (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
  double x = p < 0.5 ? -distance : distance;
  for (int step = 0; step < 3; ++step) {
    const double density = std::exp(-x * x / 2) / std::sqrt(2 * std::numbers::pi);
    const double error = (std::erfc(-x / std::numbers::sqrt2) / 2 - p) / density;
    x -= error / (1 + x * error / 2);
  }
  return x;
}

double ExpectedMaximum(std::uint32_t n) {
  const auto ranks = static_cast<double>(n);
  return n < 2 ? 0.0 : NormalQuantile((ranks - 0.375) / (ranks + 0.25));
}

}  // namespace orrery
