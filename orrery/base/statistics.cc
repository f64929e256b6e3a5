#include "orrery/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <utility>
#include <vector>

#include "orrery/base/check.h"

namespace orrery {
namespace {

double MedianInPlace(std::vector<double>& values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) {
    return *middle;
  }
  const double below = *std::max_element(values.begin(), middle);
  return below + (*middle - below) / 2;
}

}  // namespace

double Median(std::span<const double> values) {
  ORRERY_CHECK(!values.empty(), "nothing has no median");
  std::vector<double> copy(values.begin(), values.end());
  return MedianInPlace(copy);
}

double MedianAbsoluteDeviation(std::span<const double> values) {
  const double center = Median(values);
  std::vector<double> distances;
  distances.reserve(values.size());
  for (const double value : values) {
    distances.push_back(std::abs(value - center));
  }
  return MedianInPlace(distances);
}

double TheilSenSlope(std::span<const double> x, std::span<const double> y) {
  ORRERY_CHECK(x.size() == y.size(), "a point has both coordinates");
  std::vector<double> slopes;
  slopes.reserve(x.size() * x.size() / 2);
  for (std::size_t first = 0; first < x.size(); ++first) {
    for (std::size_t second = first + 1; second < x.size(); ++second) {
      if (x[first] != x[second]) {
        slopes.push_back((y[second] - y[first]) / (x[second] - x[first]));
      }
    }
  }
  return slopes.empty() ? 0.0 : MedianInPlace(slopes);
}

}  // namespace orrery
