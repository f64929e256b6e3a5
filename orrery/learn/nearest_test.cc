#include "orrery/learn/nearest.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::learn {
namespace {

using testing::ElementsAre;

// Mean 2, deviation 2: positions -1, -1, 1, 1 after scaling.
DataSet Line() {
  DataSet data({"x"});
  double target = 10;
  for (const float x : {0.0F, 0.0F, 4.0F, 4.0F}) {
    data.Append({.features = {&x, 1}, .target = target});
    target += 10;
  }
  return data;
}

TEST(Nearest, TakesTheNearestAndOfEqualOnesTheFirst) {
  const DataSet data = Line();
  const Nearest nearest(data, data.AllRows(), 1);
  EXPECT_THAT(nearest.PredictRows(std::vector<float>{1, 3, 2}), ElementsAre(10, 30, 10));
}

TEST(Nearest, TakesTheMeanOfSeveral) {
  const DataSet data = Line();
  EXPECT_THAT(Nearest(data, data.AllRows(), 2).PredictRows(std::vector<float>{1, 3}),
              ElementsAre(15, 35));
  EXPECT_THAT(Nearest(data, data.AllRows(), 9).PredictRows(std::vector<float>{1}, 2),
              ElementsAre(25));
}

TEST(Nearest, MeasuresDistanceInDeviations) {
  const DataSet data = Line();
  const float far = 10;
  EXPECT_DOUBLE_EQ(Nearest(data, data.AllRows(), 1).DistanceTo({&far, 1}), 3);
}

}  // namespace
}  // namespace orrery::learn
