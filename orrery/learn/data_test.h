#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include <fmt/format.h>

#include "orrery/learn/data_set.h"

namespace orrery::learn::test_data {

/// A smooth curve with a step and an interaction, about as hard as the logarithm of a kernel time.
inline double CurveOf(const std::vector<float>& x) {
  const double smooth = std::sin(3.0 * x[0]) + 2.0 * x[1] * x[1];
  return smooth + (x[2] > 0.3F ? 0.5 : 0.0) + x[0] * x[1];
}

inline double MeanAbsoluteError(std::span<const double> predicted,
                                std::span<const double> measured) {
  double sum = 0;
  for (std::size_t row = 0; row < measured.size(); ++row) {
    sum += std::abs(predicted[row] - measured[row]);
  }
  return sum / static_cast<double>(measured.size());
}

struct Shape {
  std::size_t num_rows = 1'000;
  std::size_t num_features = 4;  // at least 3; those behind the third say nothing
  double noise = 0;              // half width of even noise on the target
  std::uint64_t seed = 1;
};

/// Features are even in -1 to 1; every row is its own duplicate.
inline DataSet MakeCurve(const Shape& shape) {
  std::vector<std::string> names;
  for (std::size_t feature = 0; feature < shape.num_features; ++feature) {
    names.push_back(fmt::format("x{}", feature));
  }
  DataSet data(names, {"row"});
  Random random(shape.seed);
  std::vector<float> features(shape.num_features);
  for (std::size_t row = 0; row < shape.num_rows; ++row) {
    for (float& feature : features) {
      feature = static_cast<float>(2 * random.Uniform() - 1);
    }
    const double noise = shape.noise * (2 * random.Uniform() - 1);
    data.Append({.features = features,
                 .target = CurveOf(features) + noise,
                 .groups = {fmt::format("{}", row)}});
  }
  return data;
}

}  // namespace orrery::learn::test_data
