#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <span>
#include <utility>
#include <vector>

#include <Eigen/Core>
#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/perceptron/perceptron.h"
#include "orrery/learn/perceptron/perceptron_gradient.h"

namespace orrery::learn {
namespace {

constexpr std::size_t kValidationBlock = 1'024;

std::vector<std::uint32_t> Widths(const DataSet& data, const PerceptronOptions& options) {
  std::vector<std::uint32_t> widths = {static_cast<std::uint32_t>(data.num_features())};
  widths.insert(widths.end(), options.hidden_widths.begin(), options.hidden_widths.end());
  widths.push_back(1);
  return widths;
}

// Weights even within ±√(6 / inputs), which keeps the spread of values from layer to layer (He et
// al. 2015); biases 0.
std::vector<float> FirstParameters(std::span<const std::uint32_t> widths, Random& random) {
  std::vector<float> parameters(NumParameters(widths));
  for (const LayerPlace& place : PlaceLayers(widths)) {
    const double limit = std::sqrt(6.0 / static_cast<double>(place.inputs));
    for (std::size_t index = place.weights; index < place.biases; ++index) {
      parameters[index] = static_cast<float>(limit * (2 * random.Uniform() - 1));
    }
  }
  return parameters;
}

std::vector<float> Decays(std::span<const std::uint32_t> widths, double weight_decay) {
  std::vector<float> decays(NumParameters(widths));
  for (const LayerPlace& place : PlaceLayers(widths)) {
    for (std::size_t index = place.weights; index < place.biases; ++index) {
      decays[index] = static_cast<float>(weight_decay);
    }
  }
  return decays;
}

double MeanWeight(const DataSet& data, std::span<const RowIndex> rows) {
  double sum = 0;
  for (const RowIndex row : rows) {
    sum += data.weights()[row];
  }
  return sum / static_cast<double>(rows.size());
}

// Turns rows into batches, in the units of one network.
class BatchMaker {
 public:
  BatchMaker(const DataSet& data, std::span<const RowIndex> train, const Perceptron::Parts& parts)
      : data_(data), parts_(parts), mean_weight_(MeanWeight(data, train)) {}

  Batch Make(std::span<const RowIndex> rows) const {
    const auto count = static_cast<Eigen::Index>(rows.size());
    const std::size_t width = data_.num_features();
    Batch batch{.features = Eigen::MatrixXf(static_cast<Eigen::Index>(width), count),
                .targets = Eigen::RowVectorXf(count),
                .weights = Eigen::RowVectorXf(count)};
    for (Eigen::Index index = 0; index < count; ++index) {
      const RowIndex row = rows[static_cast<std::size_t>(index)];
      parts_.scaler.Scale(data_.Features(row), {&batch.features(0, index), width});
      batch.targets[index] =
          static_cast<float>((data_.targets()[row] - parts_.target_mean) / parts_.target_deviation);
      batch.weights[index] = static_cast<float>(data_.weights()[row] / mean_weight_);
    }
    return batch;
  }

 private:
  const DataSet& data_;
  const Perceptron::Parts& parts_;
  double mean_weight_;
};

// Goes from 1 to 0 along half a cosine.
double CosineShare(std::size_t step, std::size_t num_steps) {
  const double progress = static_cast<double>(step) / static_cast<double>(num_steps);
  return 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double ValidationLoss(const NetworkLoss& network, std::span<const float> parameters,
                      std::span<const RowIndex> rows, const BatchMaker& batches) {
  double sum = 0;
  for (std::size_t begin = 0; begin < rows.size(); begin += kValidationBlock) {
    const std::size_t count = std::min(kValidationBlock, rows.size() - begin);
    sum += network.Sum(parameters, batches.Make(rows.subspan(begin, count)));
  }
  return sum / static_cast<double>(rows.size());
}

class Training {
 public:
  Training(const DataSet& data, const TrainingRows& rows, const PerceptronOptions& options,
           Perceptron::Parts& parts)
      : rows_(rows),
        options_(options),
        parts_(parts),
        batches_(data, rows.train, parts),
        order_(rows.train.begin(), rows.train.end()),
        random_(options.seed),
        adam_(Decays(parts.widths, options.weight_decay)) {
    network_ = {.places = PlaceLayers(parts.widths),
                .activation = options.activation,
                .loss = options.loss,
                .huber_width = static_cast<float>(options.huber_width)};
    parts_.parameters = FirstParameters(parts.widths, random_);
  }

  Result<std::vector<double>> Run() {
    std::vector<float> best = parts_.parameters;
    std::vector<double> losses;
    std::size_t best_epochs = 0;
    for (int epoch = 0; epoch < options_.max_epochs; ++epoch) {
      const double train_loss = RunEpoch();
      const double loss = rows_.validation.empty() ? train_loss : Validate();
      if (!std::isfinite(loss)) {
        return Invalid("training diverged in epoch {}: lower the learning rate", epoch + 1);
      }
      losses.push_back(loss);
      if (rows_.validation.empty() || best_epochs == 0 || loss < losses[best_epochs - 1]) {
        best = parts_.parameters;
        best_epochs = losses.size();
      }
      if (options_.patience > 0 &&
          losses.size() >= best_epochs + static_cast<std::size_t>(options_.patience)) {
        break;
      }
    }
    parts_.parameters = std::move(best);
    return rows_.validation.empty() ? std::vector<double>() : losses;
  }

 private:
  double Validate() const {
    return ValidationLoss(network_, parts_.parameters, rows_.validation, batches_);
  }

  double RunEpoch() {
    random_.Shuffle(std::span(order_));
    const auto batch_rows = static_cast<std::size_t>(options_.batch_rows);
    const std::size_t num_batches = (order_.size() + batch_rows - 1) / batch_rows;
    std::vector<float> gradient(parts_.parameters.size());
    double sum = 0;
    for (std::size_t begin = 0; begin < order_.size(); begin += batch_rows) {
      const std::size_t count = std::min(batch_rows, order_.size() - begin);
      const Batch batch = batches_.Make(std::span(order_).subspan(begin, count));
      sum += network_.MeanAndGradient(parts_.parameters, batch, gradient);
      const double share =
          CosineShare(step_++, num_batches * static_cast<std::size_t>(options_.max_epochs));
      adam_.Step(gradient, options_.learning_rate * share, parts_.parameters);
    }
    return sum / static_cast<double>(num_batches);
  }

  TrainingRows rows_;
  const PerceptronOptions& options_;
  Perceptron::Parts& parts_;
  BatchMaker batches_;
  std::vector<RowIndex> order_;
  Random random_;
  Adam adam_;
  NetworkLoss network_;
  std::size_t step_ = 0;
};

Eigen::ArrayXXf Sigmoid(const Eigen::MatrixXf& sums) {
  return (1.0F + (-sums.array()).exp()).inverse();
}

constexpr float kMeanMemory = 0.9F;
constexpr float kSquareMemory = 0.999F;
constexpr float kSmallest = 1e-8F;

using Loss = PerceptronOptions::Loss;

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

Result<TrainedPerceptron> TrainPerceptron(const DataSet& data, const TrainingRows& rows,
                                          const PerceptronOptions& options) {
  ORRERY_CHECK(options.batch_rows > 0 && options.max_epochs > 0, "there is something to do");
  if (rows.train.empty() || data.num_features() == 0) {
    return Invalid("there are no rows or no features to learn from");
  }
  const std::vector<double> targets = data.TargetsOf(rows.train);
  const double deviation = StandardDeviation(targets);
  Perceptron::Parts parts{.scaler = Scaler::ForRows(data, rows.train),
                          .target_mean = Mean(targets),
                          .target_deviation = deviation > 0 ? deviation : 1,
                          .activation = options.activation,
                          .widths = Widths(data, options),
                          .parameters = {}};
  ORRERY_TRY(std::vector<double> losses, Training(data, rows, options, parts).Run());
  return TrainedPerceptron{.perceptron = Perceptron(std::move(parts)),
                           .validation_losses = std::move(losses)};
}

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
