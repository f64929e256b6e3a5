#include "orrery/learn/perceptron/perceptron.h"

#include <cmath>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/learn/data_set.h"
#include "orrery/learn/data_test.h"

namespace orrery::learn {
namespace {

// One feature of 1 and 3 (mean 2, deviation 1); hidden relu(2x + 1) and relu(-x), output
// h0 + 3 h1 - 1, then 10 + 2 × that.
Perceptron ByHand(Activation activation) {
  DataSet data({"x"});
  for (const float x : {1.0F, 3.0F}) {
    data.Append({.features = {&x, 1}});
  }
  return Perceptron({.scaler = Scaler::ForRows(data, data.AllRows()),
                     .target_mean = 10,
                     .target_deviation = 2,
                     .activation = activation,
                     .widths = {1, 2, 1},
                     .parameters = {2, -1, 1, 0, 1, 3, -1}});
}

// x = 3 scales to 1: hidden 3 and 0, output 2, so 14. x = 1 scales to -1: hidden 0 and 1, output
// 2, so 14. A missing x scales to 0: hidden 1 and 0, output 0, so 10.
TEST(Perceptron, ComputesWhatAPersonComputes) {
  const float missing = std::numeric_limits<float>::quiet_NaN();
  EXPECT_THAT(ByHand(Activation::kRelu).PredictRows(std::vector<float>{3, 1, missing}),
              testing::ElementsAre(14, 14, 10));
}

// x = 3: silu(3) = 3 / (1 + e^-3) and silu(-1) = -1 / (1 + e).
TEST(Perceptron, SiluIsSmooth) {
  const double output = 3 / (1 + std::exp(-3.0)) + 3 * (-1 / (1 + std::exp(1.0))) - 1;
  EXPECT_NEAR(ByHand(Activation::kSilu).Predict(std::vector<float>{3}), 10 + 2 * output, 1e-5);
}

Perceptron Untrained(const DataSet& data) {
  const std::vector<RowIndex> rows = data.AllRows();
  return TrainPerceptron(data, {.train = rows, .validation = {}},
                         {.hidden_widths = {37, 64}, .max_epochs = 1})
      ->perceptron;
}

TEST(Perceptron, ARowsResultHardlyDependsOnItsBatch) {
  const DataSet data = test_data::MakeCurve({.num_rows = 203});
  const Perceptron perceptron = Untrained(data);
  const std::vector<double> together = perceptron.PredictRows(data.features());
  EXPECT_EQ(together, perceptron.PredictRows(data.features(), 2));
  for (RowIndex row = 0; row < data.num_rows(); ++row) {
    EXPECT_NEAR(perceptron.Predict(data.Features(row)), together[row],
                1e-6 * (1 + std::abs(together[row])));
  }
}

TEST(Perceptron, ComesBackFromItsBytes) {
  const DataSet data = test_data::MakeCurve({.num_rows = 100});
  const Perceptron perceptron = Untrained(data);
  const auto read = Perceptron::Decode(perceptron.Encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->PredictRows(data.features()), perceptron.PredictRows(data.features()));
}

TEST(Perceptron, EveryCutIsRefused) {
  const std::string bytes = ByHand(Activation::kRelu).Encode();
  for (std::size_t size = 0; size < bytes.size(); ++size) {
    EXPECT_FALSE(Perceptron::Decode(std::string_view(bytes).substr(0, size))) << size;
  }
}

}  // namespace
}  // namespace orrery::learn
