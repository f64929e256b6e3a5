#include "orrery/learn/perceptron_gradient.h"

#include <cmath>
#include <cstddef>
#include <utility>

#include "orrery/base/check.h"

namespace orrery::learn {
namespace {

Eigen::ArrayXXf Sigmoid(const Eigen::MatrixXf& sums) {
  return (1.0F + (-sums.array()).exp()).inverse();
}

constexpr float kMeanMemory = 0.9F;
constexpr float kSquareMemory = 0.999F;
constexpr float kSmallest = 1e-8F;

using Loss = PerceptronOptions::Loss;

// The sums of every layer before activation, and its inputs.
struct Trail {
  std::vector<Eigen::MatrixXf> inputs;
  std::vector<Eigen::MatrixXf> sums;
};

Trail Forward(const NetworkLoss& network, const float* parameters, const Batch& batch) {
  Trail trail;
  trail.inputs.push_back(batch.features);
  for (std::size_t layer = 0; layer < network.places.size(); ++layer) {
    trail.sums.push_back(ApplyLayer(network.places[layer], parameters, trail.inputs.back()));
    if (layer + 1 < network.places.size()) {
      trail.inputs.push_back(Activated(network.activation, trail.sums.back()));
    }
  }
  return trail;
}

Eigen::RowVectorXf Errors(const Trail& trail, const Batch& batch) {
  return trail.sums.back().row(0) - batch.targets;
}

double WeightedLoss(const NetworkLoss& network, const Eigen::RowVectorXf& errors,
                    const Batch& batch) {
  const Eigen::ArrayXd sizes = errors.array().abs().cast<double>().transpose();
  const Eigen::ArrayXd weights = batch.weights.array().cast<double>().transpose();
  const Eigen::ArrayXd squared = 0.5 * sizes.square();
  if (network.loss == Loss::kSquared) {
    return (weights * squared).sum();
  }
  const double width = network.huber_width;
  return (weights * (sizes <= width).select(squared, width * (sizes - 0.5 * width))).sum();
}

// The derivative of the mean loss by the network's output.
Eigen::MatrixXf LossSlope(const NetworkLoss& network, const Eigen::RowVectorXf& errors,
                          const Batch& batch) {
  const float share = 1.0F / static_cast<float>(errors.size());
  if (network.loss == Loss::kSquared) {
    return share * errors.cwiseProduct(batch.weights);
  }
  const float width = network.huber_width;
  return share * errors.cwiseMax(-width).cwiseMin(width).cwiseProduct(batch.weights);
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

Adam::Adam(std::vector<float> decays)
    : decays_(std::move(decays)), means_(decays_.size()), squares_(decays_.size()) {}

void Adam::Step(std::span<const float> gradients, double learning_rate,
                std::span<float> parameters) {
  ORRERY_CHECK(gradients.size() == means_.size() && parameters.size() == means_.size(),
               "each parameter has a gradient");
  ++steps_;
  // Both averages start at 0; early on they are too small by these factors.
  const auto mean_share = static_cast<float>(1 - std::pow(kMeanMemory, steps_));
  const auto square_share = static_cast<float>(1 - std::pow(kSquareMemory, steps_));
  const auto rate = static_cast<float>(learning_rate);
  for (std::size_t index = 0; index < gradients.size(); ++index) {
    const float gradient = gradients[index];
    means_[index] = kMeanMemory * means_[index] + (1 - kMeanMemory) * gradient;
    squares_[index] = kSquareMemory * squares_[index] + (1 - kSquareMemory) * gradient * gradient;
    const float move =
        means_[index] / mean_share / (std::sqrt(squares_[index] / square_share) + kSmallest);
    parameters[index] -= rate * (move + decays_[index] * parameters[index]);
  }
}

double NetworkLoss::Sum(std::span<const float> parameters, const Batch& batch) const {
  const Trail trail = Forward(*this, parameters.data(), batch);
  return WeightedLoss(*this, Errors(trail, batch), batch);
}

double NetworkLoss::MeanAndGradient(std::span<const float> parameters, const Batch& batch,
                                    std::span<float> gradient) const {
  const Trail trail = Forward(*this, parameters.data(), batch);
  const Eigen::RowVectorXf errors = Errors(trail, batch);
  Eigen::MatrixXf slope = LossSlope(*this, errors, batch);
  for (std::size_t layer = places.size(); layer-- > 0;) {
    const LayerPlace& place = places[layer];
    Eigen::Map<Eigen::MatrixXf> of_weights(gradient.data() + place.weights, place.outputs,
                                           place.inputs);
    Eigen::Map<Eigen::VectorXf> of_biases(gradient.data() + place.biases, place.outputs);
    of_weights.noalias() = slope * trail.inputs[layer].transpose();
    of_biases = slope.rowwise().sum();
    if (layer > 0) {
      const Eigen::MatrixXf back = WeightsOf(place, parameters.data()).transpose() * slope;
      slope = back.cwiseProduct(ActivationSlope(activation, trail.sums[layer - 1]));
    }
  }
  return WeightedLoss(*this, errors, batch) / static_cast<double>(errors.size());
}

}  // namespace orrery::learn
