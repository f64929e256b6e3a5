#include <algorithm>
#include <string_view>
#include <variant>

#include <gtest/gtest.h>

#include "orrery/analyze/graph/example_runs_test.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/document/value.h"

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

// Of the 174 on the device (8 to 182) rank 0 waits 2 + 2 for launches, rank 1 45 for a launch that
// comes late (48 to 93) and 2. The path is another matter: host 85, launch 8, overhead 2 of 182.
TEST(GraphMetricsTest, LaunchBoundTimeIsTheDevicesWaitingNotThePath) {
  const MetricResult result = Ask("launch_bound_time", example_runs::MakeF());
  EXPECT_DOUBLE_EQ(*result.value, 100.0 * (4 + 47) / (2 * 174));
  EXPECT_LE(*result.value, *Ask("idle_breakdown", example_runs::MakeF()).value);
  EXPECT_EQ(*result.detail.Find("host_ns"), Value(85'000));
  EXPECT_EQ(*result.detail.Find("path_ns"), Value(182'000));
}

// A network twice as fast: a path of 153.5 instead of 182. The best of all changes leaves 130: its
// saving is the value. The run has no steps: what becomes shorter is the recorded span, 8 to 182.
TEST(GraphMetricsTest, WhatIfOfExampleF) {
  const MetricResult result = Ask("what_if", example_runs::MakeF());
  EXPECT_DOUBLE_EQ(*result.value, 100.0 * 52 / 182);
  const Value::Items& rows = result.detail.Find("questions")->items();
  const auto best = std::ranges::find(rows, *result.detail.Find("value_of"),
                                      [](const Value& row) { return *row.Find("question"); });
  ASSERT_NE(best, rows.end());
  const auto seconds = [](const Value& row) {
    return std::get<double>(row.Find("step_s")->variant());
  };
  EXPECT_DOUBLE_EQ(seconds(*best), 174e-6 * 130 / 182);
  ASSERT_EQ(rows.size(), 8u);
  EXPECT_DOUBLE_EQ(seconds(rows[0]), 174e-6 * 153.5 / 182);
  EXPECT_EQ(*rows[2].Find("question"), Value("compute twice as fast"));
  EXPECT_DOUBLE_EQ(seconds(rows[2]), 174e-6 * 167 / 182);
}

TEST(GraphMetricsTest, ScaleUpBandwidthNeedsToKnowTheNodes) {
  const MetricResult result = Ask("scale_up_bw_utility", example_runs::MakeF());
  EXPECT_FALSE(result.is_ok());
  EXPECT_NE(result.reason.find("count_per_node"), std::string::npos) << result.reason;
}

}  // namespace
}  // namespace orrery::analyze
