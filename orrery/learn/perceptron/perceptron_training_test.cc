#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <Eigen/Core>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/learn/data_set.h"
#include "orrery/learn/data_test.h"
#include "orrery/learn/perceptron/perceptron.h"
#include "orrery/learn/perceptron/perceptron_gradient.h"

namespace orrery::learn {
namespace {

using Loss = PerceptronOptions::Loss;

Batch RandomBatch(Random& random) {
  Batch batch{.features = Eigen::MatrixXf(3, 5),
              .targets = Eigen::RowVectorXf(5),
              .weights = Eigen::RowVectorXf(5)};
  const auto draw = [&](float) { return static_cast<float>(2 * random.Uniform() - 1); };
  batch.features = batch.features.unaryExpr(draw);
  batch.targets = batch.targets.unaryExpr(draw);
  batch.weights = batch.weights.unaryExpr([&](float) { return 1 + draw(0) / 2; });
  return batch;
}

// Each derivative against the difference of the loss at two near points.
void ExpectGradientIsRight(Activation activation, Loss loss) {
  Random random(3);
  const std::vector<std::uint32_t> widths = {3, 4, 4, 1};
  const NetworkLoss network = {
      .places = PlaceLayers(widths), .activation = activation, .loss = loss, .huber_width = 0.3F};
  std::vector<float> parameters(NumParameters(widths));
  for (float& parameter : parameters) {
    parameter = static_cast<float>(2 * random.Uniform() - 1);
  }
  const Batch batch = RandomBatch(random);
  std::vector<float> gradient(parameters.size());
  const double mean = network.MeanAndGradient(parameters, batch, gradient);
  EXPECT_NEAR(mean, network.Sum(parameters, batch) / 5, 1e-6);
  for (std::size_t index = 0; index < parameters.size(); ++index) {
    constexpr float kStep = 2e-3F;
    std::vector<float> above = parameters;
    std::vector<float> below = parameters;
    above[index] += kStep;
    below[index] -= kStep;
    const double slope =
        (network.Sum(above, batch) - network.Sum(below, batch)) / (2 * 5 * double{kStep});
    EXPECT_NEAR(gradient[index], slope, 2e-3) << index;
  }
}

TEST(PerceptronTraining, BackPropagationGivesTheGradient) {
  ExpectGradientIsRight(Activation::kSilu, Loss::kSquared);
  ExpectGradientIsRight(Activation::kSilu, Loss::kHuber);
  ExpectGradientIsRight(Activation::kRelu, Loss::kSquared);
}

double TestError(const DataSet& data, const Split& split, const PerceptronOptions& options) {
  const auto trained = TrainPerceptron(data, split.training(), options);
  return test_data::MeanAbsoluteError(trained->perceptron.PredictRows(data.FeaturesOf(split.test)),
                                      data.TargetsOf(split.test));
}

// A network that learnt nothing is off by 0.7.
TEST(PerceptronTraining, LearnsACurve) {
  const DataSet data = test_data::MakeCurve({.num_rows = 2'000});
  const Split split = SplitAtRandom(data, {.seed = 1}, 0.2);
  PerceptronOptions options = {
      .hidden_widths = {32, 32}, .max_epochs = 40, .batch_rows = 64, .learning_rate = 1e-2};
  EXPECT_LT(TestError(data, split, options), 0.15);
  options.activation = Activation::kSilu;
  options.loss = Loss::kHuber;
  EXPECT_LT(TestError(data, split, options), 0.15);
}

TEST(PerceptronTraining, RepeatedTrainingGivesTheSameNetwork) {
  const DataSet data = test_data::MakeCurve({.num_rows = 300});
  const Split split = SplitAtRandom(data, {.seed = 1}, 0.2);
  const PerceptronOptions options = {.hidden_widths = {16}, .max_epochs = 5, .seed = 9};
  const auto first = TrainPerceptron(data, split.training(), options);
  const auto second = TrainPerceptron(data, split.training(), options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->perceptron.parts().parameters, second->perceptron.parts().parameters);
  EXPECT_EQ(first->validation_losses, second->validation_losses);
}

TEST(PerceptronTraining, StopsEarlyAndKeepsTheBest) {
  const DataSet data = test_data::MakeCurve({.num_rows = 120, .noise = 1});
  const Split split = SplitAtRandom(data, {.validation_share = 0.3, .seed = 1}, 0.2);
  const auto trained = TrainPerceptron(
      data, split.training(),
      {.hidden_widths = {64, 64}, .max_epochs = 300, .patience = 10, .batch_rows = 16});
  ASSERT_TRUE(trained);
  const std::vector<double>& losses = trained->validation_losses;
  const auto best = std::min_element(losses.begin(), losses.end());
  EXPECT_EQ(losses.end() - best, 11);
  // Half the mean square in units of the targets' deviation.
  const std::vector<double> predicted =
      trained->perceptron.PredictRows(data.FeaturesOf(split.validation));
  double sum = 0;
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    const double error = predicted[row] - data.targets()[split.validation[row]];
    sum += 0.5 * std::pow(error / trained->perceptron.parts().target_deviation, 2);
  }
  EXPECT_NEAR(sum / static_cast<double>(predicted.size()), *best, 1e-5);
}

TEST(PerceptronTraining, DivergenceIsAnError) {
  const DataSet data = test_data::MakeCurve({.num_rows = 100});
  const std::vector<RowIndex> rows = data.AllRows();
  const auto trained = TrainPerceptron(data, {.train = rows, .validation = {}},
                                       {.max_epochs = 20, .learning_rate = 1e20});
  ASSERT_FALSE(trained);
  EXPECT_THAT(trained.error().message(), testing::HasSubstr("lower the learning rate"));
}

TEST(PerceptronTraining, NoRowsAreRefused) {
  EXPECT_FALSE(TrainPerceptron(DataSet({"x"}), {}, {}));
}

}  // namespace
}  // namespace orrery::learn
