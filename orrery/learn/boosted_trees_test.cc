#include "orrery/learn/boosted_trees.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <xgboost/c_api.h>

#include "orrery/learn/data_set.h"
#include "orrery/learn/data_test.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {
namespace {

double ErrorOn(const DataSet& data, std::span<const RowIndex> rows, const Forest& forest) {
  return test_data::MeanAbsoluteError(forest.PredictRows(data.FeaturesOf(rows)),
                                      data.TargetsOf(rows));
}

TEST(BoostedTrees, LearnsACurve) {
  const DataSet data = test_data::MakeCurve({.num_rows = 4'000});
  const Split split = SplitAtRandom(data, {.seed = 1}, 0.2);
  const auto trained = TrainBoostedTrees(data, split.training(), {.max_depth = 6});
  ASSERT_TRUE(trained);
  // The targets spread over about 4; a forest that learnt nothing is off by 0.7.
  EXPECT_LT(ErrorOn(data, split.test, trained->forest), 0.06);
}

// One row in five is larger by 10: the mean of all is 2, their median 0.
TEST(BoostedTrees, ARobustForestFollowsTheMedian) {
  DataSet data({"x"}, {});
  for (int i = 0; i < 500; ++i) {
    const float x = 1;
    data.Append({.features = {&x, 1}, .target = i % 5 == 0 ? 10.0 : 0.0, .groups = {}});
  }
  const std::vector<RowIndex> all = data.AllRows();
  const auto trained = TrainBoostedTrees(data, {all, {}}, {.max_rounds = 200, .robust_scale = 0.1});
  ASSERT_TRUE(trained);
  EXPECT_LT(std::abs(trained->forest.Predict(std::vector<float>{1})), 0.1);
}

TEST(BoostedTrees, RepeatedTrainingGivesTheSameForest) {
  const DataSet data = test_data::MakeCurve({.num_rows = 3'000, .noise = 0.1});
  const Split split = SplitAtRandom(data, {.seed = 1}, 0.2);
  const BoostedTreesOptions options = {
      .max_rounds = 50, .row_share = 0.7, .column_share = 0.7, .seed = 4};
  const auto first = TrainBoostedTrees(data, split.training(), options);
  const auto second = TrainBoostedTrees(data, split.training(), options);
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->forest.Trees(), second->forest.Trees());
  EXPECT_EQ(first->validation_losses, second->validation_losses);
}

TEST(BoostedTrees, StopsEarlyAndKeepsTheBestRounds) {
  const DataSet data = test_data::MakeCurve({.num_rows = 300, .noise = 1});
  const Split split = SplitAtRandom(data, {.validation_share = 0.3, .seed = 1}, 0.2);
  const auto trained = TrainBoostedTrees(data, split.training(),
                                         {.max_rounds = 500, .patience = 10, .learning_rate = 0.3});
  ASSERT_TRUE(trained);
  const std::vector<double>& losses = trained->validation_losses;
  const auto best =
      static_cast<std::size_t>(std::min_element(losses.begin(), losses.end()) - losses.begin());
  EXPECT_EQ(losses.size(), best + 11);
  EXPECT_EQ(trained->forest.num_trees(), best + 1);
  // The loss we were told is the one of the forest we were given.
  const std::vector<double> predicted =
      trained->forest.PredictRows(data.FeaturesOf(split.validation));
  double squares = 0;
  for (std::size_t row = 0; row < predicted.size(); ++row) {
    squares += std::pow(predicted[row] - data.targets()[split.validation[row]], 2);
  }
  EXPECT_NEAR(std::sqrt(squares / static_cast<double>(predicted.size())), losses[best], 1e-5);
}

TEST(BoostedTrees, NoRowsAreRefused) {
  const auto trained = TrainBoostedTrees(DataSet({"x"}), {}, {});
  ASSERT_FALSE(trained);
  EXPECT_EQ(trained.error().message(), "there are no rows or no features to learn from");
}

TEST(BoostedTrees, XgboostsRefusalIsPassedOn) {
  const DataSet data = test_data::MakeCurve({.num_rows = 10});
  const std::vector<RowIndex> rows = data.AllRows();
  const auto trained =
      TrainBoostedTrees(data, {.train = rows, .validation = {}}, {.learning_rate = -1});
  ASSERT_FALSE(trained);
  EXPECT_THAT(trained.error().message(), testing::StartsWith("XGBoost refuses: "));
}

// Trains with XGBoost itself and predicts with both; rows have holes.
TEST(XgboostModel, PredictsWhatXgboostPredicts) {
  DataSet data = test_data::MakeCurve({.num_rows = 2'000});
  const float missing = std::numeric_limits<float>::quiet_NaN();
  for (RowIndex row = 0; row < 200; ++row) {
    std::vector<float> features(data.Features(row).begin(), data.Features(row).end());
    features[row % 4] = missing;
    data.Append({.features = features, .target = data.targets()[row], .groups = {""}});
  }
  DMatrixHandle raw = nullptr;
  ASSERT_EQ(XGDMatrixCreateFromMat(data.features().data(), data.num_rows(), data.num_features(),
                                   missing, &raw),
            0);
  const std::vector<float> targets(data.targets().begin(), data.targets().end());
  ASSERT_EQ(XGDMatrixSetFloatInfo(raw, "label", targets.data(), targets.size()), 0);
  BoosterHandle handle = nullptr;
  ASSERT_EQ(XGBoosterCreate(&raw, 1, &handle), 0);
  ASSERT_EQ(XGBoosterSetParam(handle, "tree_method", "hist"), 0);
  ASSERT_EQ(XGBoosterSetParam(handle, "max_depth", "8"), 0);
  for (int round = 0; round < 100; ++round) {
    ASSERT_EQ(XGBoosterUpdateOneIter(handle, round, raw), 0);
  }
  bst_ulong size = 0;
  const char* json = nullptr;
  ASSERT_EQ(XGBoosterSaveModelToBuffer(handle, R"({"format": "json"})", &size, &json), 0);
  const auto model = ReadXgboostModel(std::string(json, size), 100);
  ASSERT_TRUE(model) << model.error().message();

  const float* expected = nullptr;
  ASSERT_EQ(XGBoosterPredict(handle, raw, 0, 0, 0, &size, &expected), 0);
  const std::vector<double> predicted = model->PredictRows(data.features());
  ASSERT_EQ(predicted.size(), size);
  for (std::size_t row = 0; row < size; ++row) {
    // XGBoost sums in single precision.
    EXPECT_NEAR(predicted[row], expected[row], 1e-6 * (1 + std::abs(expected[row]))) << row;
  }
  XGBoosterFree(handle);
  XGDMatrixFree(raw);
}

TEST(XgboostModel, OtherTextIsRefused) {
  EXPECT_FALSE(ReadXgboostModel("{}", 1));
  EXPECT_FALSE(ReadXgboostModel("not JSON", 1));
}

}  // namespace
}  // namespace orrery::learn
