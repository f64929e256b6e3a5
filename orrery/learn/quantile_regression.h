#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace orrery::learn {

/// One observation: what is known of it, and what is to be bounded.
struct QuantileRow {
  std::vector<double> values;
  double target = 0;
  double weight = 1;
};

/// Coefficients c ≥ 0 of c · values, below which a share `level` of the targets lies, by weight:
/// the least pinball loss, its corner rounded over a width of 0.02. With no coefficient below 0 the
/// bound never falls when a value rises. Costs rows · values · 1,500. The rows have equally many
/// values and are not empty.
[[nodiscard]] std::vector<double> FitQuantile(std::span<const QuantileRow> rows, double level);

/// The value below which a share of the weights lies, interpolated between the middles of values.
struct WeightedValue {
  double value = 0;
  double weight = 1;
};

[[nodiscard]] double WeightedQuantile(std::vector<WeightedValue> values, double share);

}  // namespace orrery::learn
