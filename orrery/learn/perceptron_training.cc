#include "orrery/learn/perceptron_training.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <numbers>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/check.h"
#include "orrery/base/statistics.h"
#include "orrery/learn/perceptron_gradient.h"
#include "orrery/learn/random.h"

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

  [[nodiscard]] Batch Make(std::span<const RowIndex> rows) const {
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

// One training from the first parameters to the best.
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

  // Leaves the best parameters in the parts.
  Result<std::vector<double>> Run() {
    std::vector<float> best = parts_.parameters;
    std::vector<double> losses;
    std::size_t best_epochs = 0;
    for (int epoch = 0; epoch < options_.max_epochs; ++epoch) {
      const double train_loss = RunEpoch();
      const double loss = rows_.validation.empty() ? train_loss : Validate();
      if (!std::isfinite(loss)) {
        return Fail(
            Error::Kind::kInvalidInput,
            fmt::format("training diverged in epoch {}: lower the learning rate", epoch + 1));
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
  [[nodiscard]] double Validate() const {
    return ValidationLoss(network_, parts_.parameters, rows_.validation, batches_);
  }

  // Returns the mean loss of the batches during the epoch.
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

}  // namespace

Result<TrainedPerceptron> TrainPerceptron(const DataSet& data, const TrainingRows& rows,
                                          const PerceptronOptions& options) {
  ORRERY_CHECK(options.batch_rows > 0 && options.max_epochs > 0, "there is something to do");
  if (rows.train.empty() || data.num_features() == 0) {
    return Fail(Error::Kind::kInvalidInput, "there are no rows or no features to learn from");
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

}  // namespace orrery::learn
