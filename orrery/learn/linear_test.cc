#include "orrery/learn/linear.h"

#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// y = 3 + 2a - b, exactly.
DataSet Plane() {
  DataSet data({"a", "b"});
  for (const auto& [a, b] : {std::pair(0.0F, 0.0F), {1, 0}, {0, 1}, {2, 5}}) {
    data.Append({.features = std::vector<float>{a, b}, .target = 3.0 + 2 * a - b});
  }
  return data;
}

TEST(Linear, FindsAPlane) {
  const DataSet data = Plane();
  const auto model = Linear::Fit(data, data.AllRows(), 0);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->intercept(), 3, 1e-12);
  EXPECT_THAT(model->coefficients(), ElementsAre(DoubleNear(2, 1e-12), DoubleNear(-1, 1e-12)));
  EXPECT_NEAR(model->PredictRows(data.features())[3], 2, 1e-12);
}

// One feature of -1 and 1 and y of -1 and 1: (1 · slope - 1)² + ridge · slope² is least at
// 1 / (1 + ridge).
TEST(Linear, ARidgePullsTowardsZeroButNotTheIntercept) {
  DataSet data({"x"});
  for (const float x : {-1.0F, 1.0F}) {
    data.Append({.features = {&x, 1}, .target = x + 7.0});
  }
  const auto model = Linear::Fit(data, data.AllRows(), 1);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->coefficients()[0], 0.5, 1e-12);
  EXPECT_NEAR(model->intercept(), 7, 1e-12);
}

// A constant through 0 (weight 3) and 4 (weight 1) is 1. The feature says nothing.
TEST(Linear, RowsCountByTheirWeight) {
  DataSet data({"x"});
  const float x = 1;
  data.Append({.features = {&x, 1}, .target = 0, .weight = 3});
  data.Append({.features = {&x, 1}, .target = 4, .weight = 1});
  const auto model = Linear::Fit(data, data.AllRows(), 0);
  ASSERT_TRUE(model);
  EXPECT_NEAR(model->Predict({&x, 1}), 1, 1e-12);
}

TEST(Linear, TwoEqualFeaturesShare) {
  DataSet data({"a", "b"});
  for (const float x : {0.0F, 1.0F, 2.0F}) {
    data.Append({.features = std::vector<float>{x, x}, .target = 4.0 * x});
  }
  const auto model = Linear::Fit(data, data.AllRows(), 0);
  ASSERT_TRUE(model);
  EXPECT_THAT(model->coefficients(), ElementsAre(DoubleNear(2, 1e-9), DoubleNear(2, 1e-9)));
}

TEST(Linear, AMissingValueIsRefusedByName) {
  DataSet data = Plane();
  data.Append({.features = std::vector<float>{1, std::numeric_limits<float>::quiet_NaN()}});
  const auto model = Linear::Fit(data, data.AllRows(), 0);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().message(), "row 4 has no value of b, which a linear model needs");
}

TEST(Linear, ComesBackFromItsBytes) {
  const Linear model(1.5, {0.1, -2});
  const auto read = Linear::Decode(model.Encode());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->intercept(), 1.5);
  EXPECT_THAT(read->coefficients(), ElementsAre(0.1, -2));
  EXPECT_FALSE(Linear::Decode(model.Encode() + "x"));
}

}  // namespace
}  // namespace orrery::learn
