#include <string_view>

#include <gtest/gtest.h>

#include "orrery/analyze/graph/example_runs_test.h"
#include "orrery/analyze/metric.h"

namespace orrery::analyze {
namespace {

using example_runs::Example;

MetricResult Ask(std::string_view name, const Example& example) {
  return Evaluate(FindMetric(name).value(), example.view);
}

TEST(GraphMetricsTest, CriticalPathOfExampleF) {
  const MetricResult result = Ask("critical_path", example_runs::MakeF());
  ASSERT_TRUE(result.is_ok());
  EXPECT_DOUBLE_EQ(*result.value, 182e-6);
  const Value* classes = result.detail.Find("by_class");
  EXPECT_EQ(*classes->Find("host_ns"), Value(85'000));
  EXPECT_EQ(*classes->Find("transfer_ns"), Value(57'000));
  EXPECT_EQ(*result.detail.Find("rank_changes"), Value(1));
  EXPECT_EQ(*result.detail.Find("contradictions"), Value(0));
  const Value& longest = result.detail.Find("longest_hops")->items().front();
  EXPECT_EQ(*longest.Find("name"), Value("data"));
  EXPECT_EQ(*longest.Find("rank"), Value(1));
  // Rank 0's K1 of 50 could end 33 later, rank 1's of 40 could end 45 later.
  const Value::Items& slack = result.detail.Find("longest_with_slack")->items();
  ASSERT_EQ(slack.size(), 2u);
  EXPECT_EQ(*slack[0].Find("slack_ns"), Value(33'000));
  EXPECT_EQ(*slack[1].Find("slack_ns"), Value(45'000));
}

// Host 85, launch 8 and launch_overhead 2 of 182.
TEST(GraphMetricsTest, LaunchBoundTimeOfExampleF) {
  EXPECT_DOUBLE_EQ(*Ask("launch_bound_time", example_runs::MakeF()).value, 100.0 * 95 / 182);
}

// A network twice as fast: 153.5 instead of 182.
TEST(GraphMetricsTest, WhatIfOfExampleF) {
  const MetricResult result = Ask("what_if", example_runs::MakeF());
  EXPECT_DOUBLE_EQ(*result.value, 100.0 * 28.5 / 182);
  const Value::Items& rows = result.detail.Find("questions")->items();
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_EQ(*rows[0].Find("step_s"), Value(153.5e-6));
  EXPECT_EQ(*rows[2].Find("question"), Value("compute twice as fast"));
  EXPECT_EQ(*rows[2].Find("step_s"), Value(167e-6));
}

TEST(GraphMetricsTest, ScaleUpBandwidthNeedsToKnowTheNodes) {
  const MetricResult result = Ask("scale_up_bw_utility", example_runs::MakeF());
  EXPECT_FALSE(result.is_ok());
  EXPECT_NE(result.reason.find("count_per_node"), std::string::npos) << result.reason;
}

}  // namespace
}  // namespace orrery::analyze
