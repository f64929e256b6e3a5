#include "orrery/learn/perceptron_gradient.h"

#include <cstddef>

namespace orrery::learn {
namespace {

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
