#include "orrery/learn/perceptron_layers.h"

namespace orrery::learn {
namespace {

Eigen::ArrayXXf Sigmoid(const Eigen::MatrixXf& sums) {
  return (1.0F + (-sums.array()).exp()).inverse();
}

}  // namespace

std::vector<LayerPlace> PlaceLayers(std::span<const std::uint32_t> widths) {
  std::vector<LayerPlace> places;
  std::size_t next = 0;
  for (std::size_t layer = 1; layer < widths.size(); ++layer) {
    const std::size_t num_weights = std::size_t{widths[layer - 1]} * widths[layer];
    places.push_back({.inputs = widths[layer - 1],
                      .outputs = widths[layer],
                      .weights = next,
                      .biases = next + num_weights});
    next += num_weights + widths[layer];
  }
  return places;
}

std::size_t NumParameters(std::span<const std::uint32_t> widths) {
  const std::vector<LayerPlace> places = PlaceLayers(widths);
  return places.empty() ? 0
                        : places.back().biases + static_cast<std::size_t>(places.back().outputs);
}

ConstWeights WeightsOf(const LayerPlace& place, const float* parameters) {
  return {parameters + place.weights, place.outputs, place.inputs};
}

ConstBiases BiasesOf(const LayerPlace& place, const float* parameters) {
  return {parameters + place.biases, place.outputs};
}

Eigen::MatrixXf ApplyLayer(const LayerPlace& place, const float* parameters,
                           const Eigen::MatrixXf& inputs) {
  Eigen::MatrixXf sums(place.outputs, inputs.cols());
  sums.noalias() = WeightsOf(place, parameters) * inputs;
  sums.colwise() += BiasesOf(place, parameters);
  return sums;
}

Eigen::MatrixXf Activated(Activation activation, const Eigen::MatrixXf& sums) {
  if (activation == Activation::kRelu) {
    return sums.cwiseMax(0.0F);
  }
  return sums.array() * Sigmoid(sums);
}

Eigen::MatrixXf ActivationSlope(Activation activation, const Eigen::MatrixXf& sums) {
  if (activation == Activation::kRelu) {
    return (sums.array() > 0.0F).cast<float>();
  }
  const Eigen::ArrayXXf sigmoid = Sigmoid(sums);
  return sigmoid * (1.0F + sums.array() * (1.0F - sigmoid));
}

}  // namespace orrery::learn
