#include "orrery/workload/plan/token_load.h"

#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using ::testing::AnyOf;
using ::testing::DoubleNear;

Experts Of(std::int64_t count, std::int64_t per_token) {
  return {.count = count, .per_token = per_token, .expert = {.width = 64}, .shared = {}};
}

Plan Over(int ranks) {
  Plan plan;
  plan.ep = ranks;
  return plan;
}

// Weights 1, 1/2, 1/3, 1/4: shares 12, 6, 4, 3 of 25. One expert on each of four ranks: the busiest
// has 12/25 against 1/4, whichever it is. On two ranks the first expert is with one of the others:
// (12 + 6, 4 or 3) / 25 against 1/2.
TEST(TokenLoadTest, ZipfIsDrawnAnewForLayersAndMicrobatches) {
  Plan plan = Over(4);
  plan.routing.zipf = 1;
  EXPECT_DOUBLE_EQ(TokenLoad(Of(4, 1), plan).Busiest(0, 0), 1.92);
  EXPECT_NEAR(TokenLoad(Of(4, 1), plan).Mean(), 1.92, 1e-12);
  plan.ep = 2;
  const Experts experts = Of(4, 1);
  const TokenLoad load(experts, plan);
  bool differs = false;
  for (std::uint32_t layer = 0; layer < 8; ++layer) {
    for (std::uint32_t microbatch = 0; microbatch < 8; ++microbatch) {
      const double busiest = load.Busiest(layer, microbatch);
      EXPECT_THAT(busiest,
                  AnyOf(DoubleNear(1.44, 1e-12), DoubleNear(1.28, 1e-12), DoubleNear(1.2, 1e-12)));
      differs = differs || busiest != load.Busiest(0, 0);
    }
  }
  EXPECT_TRUE(differs);
  // The three are equally likely.
  EXPECT_NEAR(load.Mean(), (1.44 + 1.28 + 1.2) / 3, 0.02);
}

TEST(TokenLoadTest, ANumberIsTheMean) {
  Plan plan = Over(8);
  plan.token_imbalance = 1.3;
  const Experts experts = Of(64, 8);
  const TokenLoad load(experts, plan);
  EXPECT_NEAR(load.Mean(), 1.3, 1e-3);
  EXPECT_NE(load.Busiest(0, 0), load.Busiest(1, 0));
  EXPECT_NE(load.Busiest(0, 0), load.Busiest(0, 1));
  // The law that was found is the one that gives it.
  Plan law = plan;
  law.routing.zipf = load.exponent();
  EXPECT_EQ(load.Busiest(0, 0), TokenLoad(experts, law).Busiest(0, 0));
  Plan other = plan;
  other.routing.seed = 1;
  EXPECT_NE(load.Busiest(0, 0), TokenLoad(experts, other).Busiest(0, 0));
}

// Two ranks of two experts: 30 of 40 against 20, then 5 and 5.
TEST(TokenLoadTest, RecordedLoadsAreTakenAsTheyAre) {
  Plan plan = Over(2);
  plan.routing.loads = {{10, 20, 5, 5}, {1, 4, 2, 3}, {0, 0, 0, 8}, {0, 0, 0, 0}};
  plan.routing.layers_of_log = 2;
  const Experts experts = Of(4, 1);
  const TokenLoad load(experts, plan);
  EXPECT_DOUBLE_EQ(load.Busiest(0, 0), 1.5);
  EXPECT_DOUBLE_EQ(load.Busiest(1, 0), 1);
  EXPECT_DOUBLE_EQ(load.Busiest(0, 1), 2);
  EXPECT_DOUBLE_EQ(load.Busiest(1, 1), 1);  // nothing was routed
  EXPECT_DOUBLE_EQ(load.Busiest(2, 2), 1.5);
  EXPECT_DOUBLE_EQ(load.Mean(), 5.5 / 4);
}

}  // namespace
}  // namespace orrery::workload
