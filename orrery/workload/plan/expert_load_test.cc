#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/activation_memory.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

Experts Of(std::int64_t count, std::int64_t per_token) {
  return {.count = count, .per_token = per_token};
}

// 1.25 · 4096 · 2 / 8; a token more is a token more for some expert.
TEST(ExpertLoadTest, CapacityRoundsUp) {
  EXPECT_EQ(ExpertCapacity(1.25, 4096, Of(8, 2)), 1280);
  EXPECT_EQ(ExpertCapacity(1.25, 4097, Of(8, 2)), 1281);
}

// √(2 ln 64 / 32768) = √(8.3178 / 32768) = 0.01593.
TEST(ExpertLoadTest, ChanceAloneMakesRanksUnequal) {
  EXPECT_NEAR(UniformImbalance(64, 4096 * 8), 1.01593, 0.00001);
  EXPECT_EQ(UniformImbalance(1, 4096), 1);
}

// Weights 1, 1/2, 1/3, 1/4 sum to 25/12. One choice: shares 12, 6, 4, 3 of 25; two ranks of two
// experts each: 16/25 against a mean of 1/2. Four ranks: 12/25 against 1/4.
TEST(ExpertLoadTest, ZipfLoadsTheRankOfTheFirstExpert) {
  EXPECT_DOUBLE_EQ(ZipfImbalance(Of(4, 1), 2, 1), 1.28);
  EXPECT_DOUBLE_EQ(ZipfImbalance(Of(4, 1), 4, 1), 1.92);
  EXPECT_DOUBLE_EQ(ZipfImbalance(Of(64, 8), 8, 0), 1);
}

// Three choices of weights 1, 1/2, 1/3, 1/4: the first would get 36/25 of a token and gets 1; of
// the 2 that are left over 13/12 the second gets 12/13.
TEST(ExpertLoadTest, AnExpertTakesATokenOnceAtMost) {
  EXPECT_DOUBLE_EQ(ZipfImbalance(Of(4, 3), 4, 1), 4.0 / 3);
  EXPECT_DOUBLE_EQ(ZipfImbalance(Of(2, 2), 2, 5), 1);
}

TEST(ExpertLoadTest, PlansSayHowManyTokensArrive) {
  Plan plan;
  plan.token_imbalance = 1.5;
  EXPECT_EQ(TokensOfExpertRank(Of(8, 2), plan, 1000), (ExpertTokens{2000, 3000}));
  plan.capacity_factor = 1.25;  // ⌈1.25 · 2000 / 8⌉ = 313 for each of eight
  EXPECT_EQ(TokensOfExpertRank(Of(8, 2), plan, 1000), (ExpertTokens{2504, 2504}));
}

}  // namespace
}  // namespace orrery::workload
