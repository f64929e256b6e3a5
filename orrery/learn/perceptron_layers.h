#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "orrery/learn/perceptron.h"

namespace orrery::learn {

/// Where the parameters of one layer lie among those of all.
struct LayerPlace {
  Eigen::Index inputs = 0;
  Eigen::Index outputs = 0;
  std::size_t weights = 0;
  std::size_t biases = 0;
};

[[nodiscard]] std::vector<LayerPlace> PlaceLayers(std::span<const std::uint32_t> widths);

[[nodiscard]] std::size_t NumParameters(std::span<const std::uint32_t> widths);

using ConstWeights = Eigen::Map<const Eigen::MatrixXf>;
using ConstBiases = Eigen::Map<const Eigen::VectorXf>;

[[nodiscard]] ConstWeights WeightsOf(const LayerPlace& place, const float* parameters);
[[nodiscard]] ConstBiases BiasesOf(const LayerPlace& place, const float* parameters);

/// Returns what the layer makes of `inputs` (one column a row of data) before activation.
[[nodiscard]] Eigen::MatrixXf ApplyLayer(const LayerPlace& place, const float* parameters,
                                         const Eigen::MatrixXf& inputs);

[[nodiscard]] Eigen::MatrixXf Activated(Activation activation, const Eigen::MatrixXf& sums);

/// Returns the derivative of the activation at `sums`.
[[nodiscard]] Eigen::MatrixXf ActivationSlope(Activation activation, const Eigen::MatrixXf& sums);

}  // namespace orrery::learn
