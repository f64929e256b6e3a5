#include "orrery/search/open_plans.h"

#include <algorithm>
#include <cstddef>
#include <limits>
#include <optional>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/error.h"
#include "orrery/search/plan_results.h"

namespace orrery::search {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

OpenPlan PlanOf(PlanId id, double bound) {
  return {.bounded = {.id = id}, .bound = bound};
}

// Plans in the order of their refined bounds, and only those are refined that may be next.
RC_GTEST_PROP(OpenPlansProperty, AreInTheOrderOfRefinedBounds, ()) {
  const auto first = *rc::gen::container<std::vector<int>>(rc::gen::inRange(0, 1000));
  const auto more = *rc::gen::container<std::vector<int>>(first.size(), rc::gen::inRange(0, 100));
  std::vector<OpenPlan> plans;
  std::vector<std::pair<double, PlanId>> expected;
  for (std::size_t i = 0; i < first.size(); ++i) {
    plans.push_back(PlanOf(i, first[i]));
    expected.emplace_back(first[i] + more[i], i);
  }
  std::ranges::sort(expected);
  std::size_t refined = 0;
  OpenPlans open(
      plans,
      [&](const std::vector<OpenPlan>& asked) -> Result<std::vector<OpenPlan>> {
        std::vector<OpenPlan> closer = asked;
        for (OpenPlan& plan : closer) {
          plan.bound += more[plan.bounded.id];
        }
        refined += asked.size();
        return closer;
      },
      [](const OpenPlan&) { return kInfinity; });
  for (std::size_t place = 0; place < expected.size(); ++place) {
    const Result<std::optional<OpenPlan>> plan = open.At(place);
    RC_ASSERT(plan.has_value() && plan->has_value());
    RC_ASSERT((*plan)->bound == expected[place].first);
    RC_ASSERT((*plan)->bounded.id == expected[place].second);
  }
  RC_ASSERT(!open.At(expected.size()).value().has_value());
  RC_ASSERT(refined == plans.size());
}

// Bounds 1, 5 and 9 with a bar of 5: the third has no place, and is not among those that are left.
TEST(OpenPlansTest, PlansAboveTheirBarHaveNoPlace) {
  double bar = 5;
  OpenPlans open(
      {PlanOf(0, 9), PlanOf(1, 1), PlanOf(2, 5)},
      [](const std::vector<OpenPlan>& asked) -> Result<std::vector<OpenPlan>> { return asked; },
      [&](const OpenPlan&) { return bar; });
  EXPECT_EQ(open.LeftFrom(0).plans, 2U);
  EXPECT_EQ((*open.At(0))->bounded.id, 1U);
  EXPECT_EQ(open.LeftFrom(1).plans, 1U);
  EXPECT_EQ(open.LeftFrom(1).smallest, 5);
  bar = 4;
  EXPECT_EQ(*open.At(1), std::nullopt);
  EXPECT_EQ(open.LeftFrom(1).plans, 0U);
}

}  // namespace
}  // namespace orrery::search
