#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "orrery/learn/perceptron/perceptron.h"

namespace orrery::learn {

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
[[nodiscard]] Eigen::MatrixXf ActivationSlope(Activation activation, const Eigen::MatrixXf& sums);

/// Adam with decoupled weight decay (Loshchilov and Hutter 2019). `decays[i]` is taken off
/// parameter i in each step, times the learning rate.
class Adam {
 public:
  explicit Adam(std::vector<float> decays);

  void Step(std::span<const float> gradients, double learning_rate, std::span<float> parameters);

 private:
  std::vector<float> decays_;
  std::vector<float> means_;    // of gradients
  std::vector<float> squares_;  // of gradients
  int steps_ = 0;
};

/// Rows ready for a network: features standardised, one column a row; targets scaled; weights of
/// mean 1.
struct Batch {
  Eigen::MatrixXf features;
  Eigen::RowVectorXf targets;
  Eigen::RowVectorXf weights;
};

struct NetworkLoss {
  std::vector<LayerPlace> places;
  Activation activation = Activation::kRelu;
  PerceptronOptions::Loss loss = PerceptronOptions::Loss::kSquared;
  float huber_width = 1;

  /// Returns the sum over the rows of weight × loss (half the squared error, or Huber's).
  [[nodiscard]] double Sum(std::span<const float> parameters, const Batch& batch) const;

  /// Writes the gradient of the mean over the rows of weight × loss by back propagation, and
  /// returns that mean.
  double MeanAndGradient(std::span<const float> parameters, const Batch& batch,
                         std::span<float> gradient) const;
};

}  // namespace orrery::learn
