#include "orrery/analyze/metric.h"

#include <cmath>
#include <set>
#include <string>

#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;

TEST(MetricTest, NamesAndAliasesAreUnique) {
  std::set<std::string> names;
  for (const Metric& metric : AllMetrics()) {
    EXPECT_TRUE(names.emplace(metric.name).second) << metric.name;
    EXPECT_FALSE(metric.meaning.empty()) << metric.name;
    for (const MetricAlias& alias : metric.aliases) {
      EXPECT_TRUE(names.emplace(alias.name).second) << alias.name;
    }
  }
}

TEST(MetricTest, NamesAreFoundInAnyCase) {
  EXPECT_EQ(FindMetric("TTFT")->metric, FindMetric("ttft")->metric);
  EXPECT_EQ(FindMetric("avg_step_time")->metric->name, "iteration_wall_clock_time");
  EXPECT_FALSE(FindMetric("no_such_metric"));
}

TEST(MetricTest, AnAliasMayScale) {
  Rank rank(0);
  rank.Kernel("gemm", {0, 50}).Kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL", {40, 60}, 20);
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  EXPECT_DOUBLE_EQ(*Evaluate(*FindMetric("comm_comp_overlap"), run).value, 50);
  EXPECT_DOUBLE_EQ(*Evaluate(*FindMetric("communication_overlap_ratio"), run).value, 0.5);
}

// Never -1, 0 or NaN for "unknown": a run with nothing in it has a reason for every metric.
TEST(MetricTest, NothingGivesReasonsInWords) {
  trace::TraceSet set;
  const RunView run = ViewRun(set, {}, {});
  for (const Metric& metric : AllMetrics()) {
    const MetricResult result = Evaluate({.metric = &metric}, run);
    EXPECT_FALSE(result.is_ok()) << metric.name;
    EXPECT_FALSE(result.reason.empty()) << metric.name;
  }
}

// One rank that only computes: no metric crashes, none is NaN.
TEST(MetricTest, EveryMetricCopesWithOneRankOfCompute) {
  Rank rank(0);
  rank.Step(0, {0, 100});
  rank.Kernel("gemm", {20, 60}, 7, rank.Call({10, 12}));
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  for (const Metric& metric : AllMetrics()) {
    const MetricResult result = Evaluate({.metric = &metric}, run);
    EXPECT_TRUE(!result.is_ok() || std::isfinite(*result.value)) << metric.name;
    EXPECT_EQ(result.is_ok(), result.reason.empty()) << metric.name;
  }
}

// Host rows only, as of a process group without peers.
TEST(MetricTest, EveryMetricCopesWithHostRowsOnly) {
  Rank rank(0);
  rank.Step(0, {0, 100}).Operator("aten::mm", {5, 50});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  for (const Metric& metric : AllMetrics()) {
    const MetricResult result = Evaluate({.metric = &metric}, run);
    EXPECT_TRUE(!result.is_ok() || std::isfinite(*result.value)) << metric.name;
  }
}

TEST(MetricTest, AnUnusableCardCostsOnlyWhatNeedsIt) {
  Rank rank(0);
  rank.Step(0, {0, 100});
  rank.Kernel("gemm", {20, 60}, 7, rank.Call({10, 12}));
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  set.card =
      trace::WorkloadCard{.file = "card.yaml", .values = {{"workload.data.batch_size", "TBD"}}};
  const RunView run = ViewRun(set, {}, {});
  EXPECT_EQ(Evaluate(*FindMetric("throughput_tokens_sec"), run).reason,
            "the workload card has no usable batch_size");
  EXPECT_TRUE(Evaluate(*FindMetric("iteration_wall_clock_time"), run).is_ok());
  EXPECT_TRUE(Evaluate(*FindMetric("aggregate_gpu_utilization"), run).is_ok());
}

}  // namespace
}  // namespace orrery::analyze
