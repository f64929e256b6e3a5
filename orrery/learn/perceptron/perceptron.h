#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/file/byte_cursor.h"
#include "orrery/learn/data_set.h"

namespace orrery::learn {

/// Brings features to mean 0 and standard deviation 1, as the rows it was made from have them. A
/// missing value becomes the mean, so 0; a feature that never changes becomes 0.
class Scaler {
 public:
  Scaler() = default;

  [[nodiscard]] static Scaler ForRows(const DataSet& data, std::span<const RowIndex> rows);
  void Scale(std::span<const float> row, std::span<float> scaled) const;

  [[nodiscard]] std::size_t num_features() const { return means_.size(); }

  void Write(ByteWriter& writer) const;
  [[nodiscard]] static Scaler Read(ByteReader& reader);

 private:
  std::vector<float> means_;
  std::vector<float> factors_;  // one over the standard deviation, or 0
};

enum class Activation : std::uint8_t {
  kRelu,  // max(x, 0)
  kSilu,  // x / (1 + exp(-x)): smooth
};

/// A network of fully connected layers with one number as result. Features are standardised and the
/// result is scaled back inside, so callers see only their own units. A missing feature counts as
/// its mean.
///
/// Computed in single precision, in blocks of rows. The result for a row may differ with its place
/// in a batch, and between machines, by about 1e-6 of the spread of the targets.
class Perceptron {
 public:
  struct Parts {
    Scaler scaler;
    double target_mean = 0;
    double target_deviation = 1;
    Activation activation = Activation::kRelu;
    std::vector<std::uint32_t> widths;  // features, each hidden layer, 1
    std::vector<float> parameters;      // of each layer: weights column by column, then biases
  };

  /// The parts must fit each other.
  explicit Perceptron(Parts parts);

  [[nodiscard]] double Predict(std::span<const float> row) const;

  /// Predicts rows that lie one after the other; `threads` as for ParallelFor.
  [[nodiscard]] std::vector<double> PredictRows(std::span<const float> rows, int threads = 1) const;

  [[nodiscard]] std::size_t num_features() const { return parts_.widths.front(); }

  [[nodiscard]] const Parts& parts() const { return parts_; }

  /// The bytes of a section of a model file; the network read back predicts the same.
  [[nodiscard]] std::string Encode() const;
  [[nodiscard]] static Result<Perceptron> Decode(std::string_view bytes);

 private:
  void PredictBlock(std::span<const float> rows, std::span<double> predictions) const;

  Parts parts_;
};

struct PerceptronOptions {
  enum class Loss { kSquared, kHuber };

  std::vector<std::uint32_t> hidden_widths = {128, 128};
  Activation activation = Activation::kRelu;
  Loss loss = Loss::kSquared;
  /// Beyond so many standard deviations of the targets an error counts linearly (Huber).
  double huber_width = 0.1;
  int max_epochs = 200;
  /// Stops after so many epochs without a better validation loss and keeps the best; 0: never.
  int patience = 30;
  int batch_rows = 256;
  /// Falls from this to 0 along half a cosine over `max_epochs`.
  double learning_rate = 2e-3;
  double weight_decay = 1e-4;  // decoupled (AdamW), of weights and not of biases
  std::uint64_t seed = 0;
};

struct TrainedPerceptron {
  Perceptron perceptron;
  /// Of targets scaled to deviation 1, after each epoch.
  std::vector<double> validation_losses;
};

/// Trains with Adam on shuffled batches, rows by weight. Uses one thread; the same rows and options
/// give the same network on one type of machine.
[[nodiscard]] Result<TrainedPerceptron> TrainPerceptron(const DataSet& data,
                                                        const TrainingRows& rows,
                                                        const PerceptronOptions& options);

}  // namespace orrery::learn
