#include "orrery/search/pareto_front.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/search/plan_results.h"
#include "orrery/search/search.h"
#include "orrery/search/small_spaces_test.h"
#include "orrery/search/space.h"

namespace orrery::search {
namespace {

std::vector<PlanId> IdsOf(const std::vector<PlanTradeoff>& plans) {
  std::vector<PlanId> ids;
  for (const PlanTradeoff& plan : plans) {
    ids.push_back(plan.id);
  }
  return ids;
}

// 2 is slower than 1 and leaves more memory; 3 is slower than 2 and leaves less; 4 is the slowest
// and leaves as much as 2, with half of the GPUs.
TEST(ParetoFrontTest, WhatIsWorseInSomethingMustBeBetterInSomethingElse) {
  const std::vector<PlanTradeoff> plans = {
      {.id = 3, .step_ps = 130, .memory_left_bytes = 15, .gpus = 8},
      {.id = 4, .step_ps = 200, .memory_left_bytes = 20, .gpus = 4},
      {.id = 1, .step_ps = 100, .memory_left_bytes = 10, .gpus = 8},
      {.id = 2, .step_ps = 120, .memory_left_bytes = 20, .gpus = 8},
  };
  EXPECT_EQ(IdsOf(ParetoFront(plans)), (std::vector<PlanId>{1, 2, 4}));
}

// 6 is as fast as 5 and leaves more; 9 and 7 have the metrics of 6.
TEST(ParetoFrontTest, OfEqualPlansTheFirstIsThere) {
  const std::vector<PlanTradeoff> plans = {
      {.id = 9, .step_ps = 100, .memory_left_bytes = 20, .gpus = 8},
      {.id = 5, .step_ps = 100, .memory_left_bytes = 10, .gpus = 8},
      {.id = 6, .step_ps = 100, .memory_left_bytes = 20, .gpus = 8},
      {.id = 7, .step_ps = 100, .memory_left_bytes = 20, .gpus = 8},
  };
  EXPECT_EQ(IdsOf(ParetoFront(plans)), (std::vector<PlanId>{6}));
}

TEST(ParetoFrontTest, DollarsAndJoulesCountWhereAllPlansHaveThem) {
  std::vector<PlanTradeoff> plans = {
      {.id = 1, .step_ps = 100, .dollars_per_token = 3, .joules_per_token = 5},
      {.id = 2, .step_ps = 110, .dollars_per_token = 2, .joules_per_token = 5},
      {.id = 3, .step_ps = 120, .dollars_per_token = 3, .joules_per_token = 4},
  };
  EXPECT_EQ(IdsOf(ParetoFront(plans)), (std::vector<PlanId>{1, 2, 3}));
  plans[2].joules_per_token = std::nullopt;  // joules of 1 and 2 do not count now
  EXPECT_EQ(IdsOf(ParetoFront(plans)), (std::vector<PlanId>{1, 2}));
  EXPECT_EQ(ParetoFront(plans).front().joules_per_token, 5);  // and are not lost
}

TEST(ParetoFrontTest, NoPlansNoFront) {
  EXPECT_TRUE(ParetoFront({}).empty());
}

// 16 GPUs of 3.6 dollars an hour: 0.016 dollars a second, for 64 · 4096 tokens in 2 s. 524,288
// joules are 2 of a token. The second plan needs all of 100 bytes where 0.9 of them may be used,
// the third was not simulated, and the power of the fourth is not known.
TEST(TradeoffTest, FiguresOfPlansThatFit) {
  const Result<Space> space = SmallSpace(
      SmallJobText("megatron-lm", false, "search: {plan.tp: [1, 2, 4, 8], memory_share: 0.9}\n"));
  ASSERT_TRUE(space.has_value());
  const auto simulated = [](PlanId id, std::int64_t memory_bytes, double joules) {
    return RankedPlan{.bounded = {.id = id},
                      .simulated = {.id = id,
                                    .step_ps = 2'000'000'000'000,
                                    .memory_bytes = memory_bytes,
                                    .usable_bytes = 100,
                                    .joules = joules}};
  };
  SearchResult result;
  result.simulated = {simulated(0, 60, 524'288), simulated(1, 100, 1), simulated(2, 0, 0),
                      simulated(3, 90, 0)};
  result.simulated[2].simulated.refusal = "no";

  const std::vector<PlanTradeoff> plans = TradeoffsOf(result, *space, {{"H100", 3.6}});

  ASSERT_EQ(IdsOf(plans), (std::vector<PlanId>{0, 3}));
  EXPECT_EQ(plans[0].memory_left_bytes, 40);
  EXPECT_EQ(plans[0].gpus, 16);
  EXPECT_DOUBLE_EQ(*plans[0].dollars_per_token, 0.032 / 262'144);
  EXPECT_DOUBLE_EQ(*plans[0].joules_per_token, 2);
  EXPECT_EQ(plans[1].simulated, 3U);
  EXPECT_EQ(plans[1].joules_per_token, std::nullopt);
  EXPECT_EQ(TradeoffsOf(result, *space, {})[0].dollars_per_token, std::nullopt);
}

// Few values, so that there are ties in every metric.
std::vector<PlanTradeoff> RandomPlans() {
  const bool has_dollars = *rc::gen::arbitrary<bool>();
  const bool has_joules = *rc::gen::arbitrary<bool>();
  std::vector<PlanTradeoff> plans(*rc::gen::inRange<std::size_t>(0, 30));
  for (std::size_t i = 0; i < plans.size(); ++i) {
    plans[i] = {.id = i,
                .step_ps = *rc::gen::inRange(0, 5),
                .memory_left_bytes = *rc::gen::inRange(0, 5),
                .gpus = *rc::gen::inRange(1, 4)};
    if (has_dollars) {
      plans[i].dollars_per_token = *rc::gen::inRange(0, 4);
    }
    if (has_joules) {
      plans[i].joules_per_token = *rc::gen::inRange(0, 4);
    }
  }
  return plans;
}

bool HasSameFigures(PlanTradeoff one, const PlanTradeoff& other) {
  one.id = other.id;
  return one == other;
}

RC_GTEST_PROP(ParetoFrontProperty, NoPlanOfTheFrontIsDominatedAndEveryOtherOneIs, ()) {
  const std::vector<PlanTradeoff> plans = RandomPlans();
  const std::vector<PlanId> front = IdsOf(ParetoFront(plans));
  for (const PlanTradeoff& plan : plans) {
    const bool is_beaten = std::ranges::any_of(plans, [&](const PlanTradeoff& other) {
      return Dominates(other, plan) || (HasSameFigures(other, plan) && other.id < plan.id);
    });
    RC_ASSERT((std::ranges::count(front, plan.id) == 1) == !is_beaten);
  }
  RC_CLASSIFY(front.size() > 1, "several plans");
}

}  // namespace
}  // namespace orrery::search
