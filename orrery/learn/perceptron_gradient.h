#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include <Eigen/Core>

#include "orrery/learn/perceptron_layers.h"
#include "orrery/learn/perceptron_training.h"

namespace orrery::learn {

/// Rows ready for a network: features standardised, one column a row; targets scaled; weights of
/// mean 1.
struct Batch {
  Eigen::MatrixXf features;
  Eigen::RowVectorXf targets;
  Eigen::RowVectorXf weights;
};

/// What a network's parameters are to be evaluated by.
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
