#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/learn/data_set.h"
#include "orrery/learn/perceptron.h"
#include "orrery/learn/split.h"

namespace orrery::learn {

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
