#include "orrery/base/math/offset_graph.h"

#include <array>
#include <cmath>
#include <cstdint>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace {

using testing::DoubleNear;
using testing::ElementsAre;

// a - b = 4, b - c = 2 without contradiction: 10/3, -2/3, -8/3 around 0.
TEST(OffsetGraphTest, AChainIsFollowedExactly) {
  const std::array measured{MeasuredDifference{0, 1, 4}, MeasuredDifference{1, 2, 2}};

  EXPECT_THAT(SolveDifferences(3, measured),
              ElementsAre(DoubleNear(10.0 / 3, 1e-9), DoubleNear(-2.0 / 3, 1e-9),
                          DoubleNear(-8.0 / 3, 1e-9)));
}

// a - b was measured as 10 with weight 3 and as 14 with weight 1: 11 fits best.
TEST(OffsetGraphTest, WeightsSettleAContradiction) {
  const std::array measured{MeasuredDifference{0, 1, 10, 3}, MeasuredDifference{1, 0, -14, 1}};

  EXPECT_THAT(SolveDifferences(2, measured),
              ElementsAre(DoubleNear(5.5, 1e-9), DoubleNear(-5.5, 1e-9)));
}

TEST(OffsetGraphTest, PartsWithoutMeasurementsBetweenThemAreSolvedApart) {
  const std::array measured{MeasuredDifference{0, 1, 2}, MeasuredDifference{3, 4, -6}};

  EXPECT_THAT(SolveDifferences(5, measured),
              ElementsAre(DoubleNear(1, 1e-9), DoubleNear(-1, 1e-9), 0.0, DoubleNear(-3, 1e-9),
                          DoubleNear(3, 1e-9)));
}

TEST(OffsetGraphTest, NothingMeasuredIsAllZero) {
  EXPECT_THAT(SolveDifferences(2, {}), ElementsAre(0.0, 0.0));
}

// Differences of known values over a random tree and some more edges give the values back, up to a
// constant, whatever the weights.
RC_GTEST_PROP(OffsetGraphProperty, ExactDifferencesGiveTheValuesBack, ()) {
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  const auto num_values = *rc::gen::inRange<std::uint32_t>(1, 60);
  std::vector<double> truth;
  for (std::uint32_t i = 0; i < num_values; ++i) {
    truth.push_back(static_cast<double>(engine() % 10'000'000) - 5e6);
  }
  std::vector<MeasuredDifference> measured;
  const auto add = [&](std::uint32_t a, std::uint32_t b) {
    measured.push_back({a, b, truth[a] - truth[b], 1.0 + static_cast<double>(engine() % 100)});
  };
  for (std::uint32_t i = 1; i < num_values; ++i) {
    add(i, static_cast<std::uint32_t>(engine() % i));
    add(i, static_cast<std::uint32_t>(engine() % i));
  }

  const std::vector<double> values = SolveDifferences(num_values, measured);

  for (std::uint32_t i = 0; i < num_values; ++i) {
    RC_ASSERT(std::abs((values[i] - values[0]) - (truth[i] - truth[0])) < 1e-3);
  }
}

}  // namespace
}  // namespace orrery
