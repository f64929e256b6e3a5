#include "orrery/analyze/straggler/straggler_cause.h"

#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/analyze/straggler/arrivals.h"
#include "orrery/analyze/straggler/segment_use.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;
using test_run::Span;

struct RankShape {
  Span compute;
  std::int64_t arrives = 0;
  std::int64_t launched = 90;  // when its compute kernel was launched
};

// Three ranks leave c1 at 100; c2 ends at 177 on all; the step lasts 200.
trace::TraceSet ThreeRanks(const std::vector<RankShape>& shapes) {
  trace::TraceSet set;
  for (std::size_t i = 0; i < shapes.size(); ++i) {
    Rank rank(static_cast<std::int32_t>(i));
    const RowId group = rank.Group("tp", "[0, 1, 2]", 3);
    rank.Step(0, {0, 200});
    const std::int64_t first = rank.Call({50, 52});
    const std::int64_t compute = rank.Call({shapes[i].launched, shapes[i].launched + 1});
    const std::int64_t second = rank.Call({shapes[i].launched + 1, shapes[i].launched + 2});
    rank.Operator("aten::item", {60, shapes[i].launched - 1});
    rank.Collective({.span = {80, 100}, .group = group, .sequence = 1, .correlation = first});
    rank.Kernel("gemm", shapes[i].compute, 7, compute);
    rank.Collective(
        {.span = {shapes[i].arrives, 177}, .group = group, .sequence = 2, .correlation = second});
    set.ranks.push_back(rank.Finish());
  }
  return set;
}

const std::vector<RankShape> kLateHost{
    {{100, 140}, 142}, {{100, 141}, 143}, {{125, 165}, 167, 123}};

// Segments 42, 43, 67; the baseline is rank 1 and the excess 24. Rank 2 computes 40 instead of 41
// and idles 25 + 2 instead of 2: its host launched at 123, after the gap began.
TEST(StragglerCauseTest, ALateHostIsNamed) {
  trace::TraceSet set = ThreeRanks(kLateHost);
  const RunView run = ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  const std::vector<LateArrival> arrivals = ExplainArrivals(run);
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].rank, 2);
  EXPECT_EQ(arrivals[0].baseline_rank, 1);
  EXPECT_EQ(arrivals[0].excess_ns, 24'000);
  EXPECT_EQ(arrivals[0].use, SegmentUse::kHostWait);
  EXPECT_EQ(arrivals[0].use_excess_ns, 25'000);
  EXPECT_EQ(arrivals[0].culprit, "aten::item");
}

// c2: last 167, waits 25, 24, 0; blame 49, gain 167 - 143 = 24; (167 - median 143) / 200 = 0.12.
// c1 has no late rank.
TEST(StragglerCauseTest, TheMetricIsLatenessOverTheStep) {
  trace::TraceSet set = ThreeRanks(kLateHost);
  const RunView run = ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  const MetricResult result = Evaluate(*FindMetric("straggler"), run);
  ASSERT_TRUE(result.is_ok()) << result.reason;
  EXPECT_DOUBLE_EQ(*result.value, 0.12);
  const std::vector<RankArrivals> ranks = ArrivalsByRank(CountArrivals(run));
  EXPECT_EQ(ranks[0].rank, 2);
  EXPECT_EQ(ranks[0].blame_ns, 49'000);
  EXPECT_EQ(ranks[0].gain_ns, 24'000);
}

// Rank 2 computes 65 where the others compute 40 and 41: the kernel is the cause.
TEST(StragglerCauseTest, ASlowKernelIsNamed) {
  trace::TraceSet set = ThreeRanks({{{100, 140}, 142}, {{100, 141}, 143}, {{100, 165}, 167}});
  const std::vector<LateArrival> arrivals =
      ExplainArrivals(ViewRun(set, {}, {.align = trace::AlignClocks::kNever}));
  ASSERT_EQ(arrivals.size(), 1u);
  EXPECT_EQ(arrivals[0].use, SegmentUse::kCompute);
  EXPECT_EQ(arrivals[0].use_excess_ns, 24'000);
  EXPECT_EQ(arrivals[0].culprit, "gemm");
}

TEST(StragglerCauseTest, PartsOfASegmentSumToIt) {
  trace::TraceSet set = ThreeRanks(kLateHost);
  const RunView run = ViewRun(set, {}, {.align = trace::AlignClocks::kNever});
  for (const DeviceView& device : run.devices) {
    const SegmentSplitter splitter(run, device);
    for (const Interval segment : {Interval{100'000, 142'000}, Interval{100'000, 160'000}}) {
      std::int64_t sum_ns = 0;
      for (const std::int64_t part_ns : splitter.Split(segment)) {
        sum_ns += part_ns;
      }
      EXPECT_EQ(sum_ns, segment.length_ns()) << device.rank;
    }
  }
}

}  // namespace
}  // namespace orrery::analyze
