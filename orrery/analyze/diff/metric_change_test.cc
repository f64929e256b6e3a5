#include <limits>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/analyze/diff/diff.h"
#include "orrery/analyze/metric.h"

namespace orrery::analyze::diff {
namespace {

MetricChange Changed(Better better, std::optional<double> before, std::optional<double> after,
                     std::string name = "m") {
  return {.name = std::move(name), .better = better, .before = before, .after = after};
}

// 4 → 5 is 25 % more, and 4 → 3 is 25 % less, whatever is better.
// 10 % of 137 are 13.7, 15 % of 82 are 12.3: the share rose, and its time fell. Of the same step
// 15 % are half as much again.
TEST(MetricChangeTest, AShareOfTheStepIsJudgedByItsTime) {
  MetricChange change = Changed(Better::kLowerTime, 10, 15);
  change.step_before_ns = 137;
  change.step_after_ns = 82;
  EXPECT_EQ(change.GetVerdict(), Verdict::kBetter);
  EXPECT_EQ(change.WorsePercent(), 0.0);
  change.step_after_ns = 137;
  EXPECT_EQ(change.GetVerdict(), Verdict::kWorse);
  EXPECT_DOUBLE_EQ(change.WorsePercent(), 50.0);
  EXPECT_EQ(change.Percent(), 50.0);
}

TEST(MetricChangeTest, TheDirectionDecidesWhetherMoreIsWorse) {
  EXPECT_EQ(Changed(Better::kLower, 4, 5).GetVerdict(), Verdict::kWorse);
  EXPECT_EQ(Changed(Better::kLower, 4, 3).GetVerdict(), Verdict::kBetter);
  EXPECT_EQ(Changed(Better::kHigher, 4, 5).GetVerdict(), Verdict::kBetter);
  EXPECT_EQ(Changed(Better::kHigher, 4, 3).WorsePercent(), 25.0);
  EXPECT_EQ(Changed(Better::kHigher, 4, 5).WorsePercent(), 0.0);
  EXPECT_EQ(Changed(Better::kNeither, 4, 5).GetVerdict(), Verdict::kUnknown);
  EXPECT_EQ(Changed(Better::kNeither, 4, 5).Percent(), 25.0);
}

TEST(MetricChangeTest, AValueThatIsMissingIsNotEvaluated) {
  EXPECT_FALSE(Changed(Better::kLower, std::nullopt, 5).IsEvaluated());
  EXPECT_EQ(Changed(Better::kLower, 4, std::nullopt).GetVerdict(), Verdict::kUnknown);
  EXPECT_EQ(Changed(Better::kLower, 4, std::nullopt).Percent(), std::nullopt);
}

// No percentage of zero says how much more something is, but it is worse than any limit.
TEST(MetricChangeTest, WhatGrowsFromZeroIsOverEveryLimit) {
  const MetricChange change = Changed(Better::kLower, 0, 0.1);
  EXPECT_EQ(change.Percent(), std::nullopt);
  EXPECT_EQ(change.WorsePercent(), std::numeric_limits<double>::infinity());
  EXPECT_EQ(Changed(Better::kLower, 0, 0).Percent(), 0.0);
  EXPECT_EQ(WorseThan({change}, 1e6).size(), 1);
}

// 10 %, 30 % and 20 % worse, one better: over 15 % are two, the 30 % first. The limit itself is
// allowed.
TEST(WorseThanTest, TheWorstComesFirstAndTheLimitIsAllowed) {
  const std::vector<MetricChange> changes{
      Changed(Better::kLower, 10, 11, "a"), Changed(Better::kHigher, 10, 7, "b"),
      Changed(Better::kLower, 10, 12, "c"), Changed(Better::kLower, 10, 1, "d")};
  const auto worse = WorseThan(changes, 15);
  ASSERT_EQ(worse.size(), 2);
  EXPECT_EQ(worse[0].name, "b");
  EXPECT_EQ(worse[1].name, "c");
  EXPECT_EQ(WorseThan(changes, 20).size(), 1);
}

RC_GTEST_PROP(MetricChangeProperty, AMetricIsNeverWorseBothWays, (double a, double b)) {
  const bool forth = Changed(Better::kLower, a, b).GetVerdict() == Verdict::kWorse;
  const bool back = Changed(Better::kLower, b, a).GetVerdict() == Verdict::kWorse;
  RC_ASSERT(!(forth && back));
  RC_ASSERT((forth || back) == (a != b));
}

TEST(MetricTest, StepTimeShouldFallAndThroughputRise) {
  EXPECT_EQ(FindMetric("iteration_wall_clock_time")->metric->better, Better::kLower);
  EXPECT_EQ(FindMetric("throughput_tokens_sec")->metric->better, Better::kHigher);
  EXPECT_EQ(FindMetric("coll_call_num")->metric->better, Better::kNeither);
}

}  // namespace
}  // namespace orrery::analyze::diff
