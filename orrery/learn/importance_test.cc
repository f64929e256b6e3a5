#include <cstddef>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/learn/data_set.h"
#include "orrery/learn/data_test.h"
#include "orrery/learn/metrics.h"

namespace orrery::learn {
namespace {

// The target is a; b is a copy of a, and c is noise.
DataSet Copies() {
  DataSet data({"a", "b", "c"});
  for (int row = 0; row < 200; ++row) {
    const auto a = static_cast<float>(row);
    const auto c = static_cast<float>(row * 37 % 11);
    data.Append({.features = std::vector<float>{a, a, c}, .target = a});
  }
  return data;
}

// Knows the truth as long as either copy tells it.
std::vector<double> PredictMean(std::span<const float> rows) {
  std::vector<double> predictions;
  for (std::size_t row = 0; row < rows.size(); row += 3) {
    predictions.push_back((rows[row] + rows[row + 1]) / 2);
  }
  return predictions;
}

// Shuffled evenly, |a - b| is on average a third of the range: 200 / 3 = 67 for the pair, half of
// it for one copy, as the mean moves by half. Figures of 200 rows spread by about 3.
TEST(Importance, CopiesShareTheirImportanceUnlessShuffledTogether) {
  const DataSet data = Copies();
  const std::vector<FeatureGroup> groups = {
      {"one", {0}}, {"pair", {0, 1}}, {"noise", {2}}, {"one", {0}}};
  const auto importance = PermutationImportance(data, data.AllRows(), groups, PredictMean,
                                                test_data::MeanAbsoluteError);
  ASSERT_EQ(importance.size(), 4);
  EXPECT_NEAR(importance[0].mean_increase, 33, 5);
  EXPECT_NEAR(importance[1].mean_increase, 67, 10);
  EXPECT_EQ(importance[2].mean_increase, 0);
  EXPECT_EQ(importance[2].spread, 0);
  EXPECT_GT(importance[1].spread, 0);
  EXPECT_EQ(importance[3].mean_increase, importance[0].mean_increase);
}

}  // namespace
}  // namespace orrery::learn
