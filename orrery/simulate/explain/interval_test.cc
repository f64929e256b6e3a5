#include "orrery/simulate/explain/interval.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/learn/interval.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {
namespace {

Breakdown BreakdownWith(std::vector<TimeShare> shares) {
  Breakdown breakdown{.step_ps = 0, .shares = std::move(shares)};
  for (const TimeShare& share : breakdown.shares) {
    breakdown.step_ps += share.ps;
  }
  return breakdown;
}

double WidthOf(const learn::TimeInterval& interval) {
  return std::log(interval.high_s / interval.low_s);
}

const Breakdown kGemmsOnly =
    BreakdownWith({{.kind = TimeKind::kCompute, .what = "products", .ps = 1'000'000'000'000}});

TEST(IntervalTest, TraitsAreSharesOfTheStep) {
  const Breakdown breakdown =
      BreakdownWith({{.kind = TimeKind::kCompute, .what = "products", .ps = 400},
                     {.kind = TimeKind::kCompute, .what = "attention", .ps = 100},
                     {.kind = TimeKind::kCompute, .what = "elementwise", .ps = 100},
                     {.kind = TimeKind::kTransfer, .what = "tp", .ps = 150},
                     {.kind = TimeKind::kWait, .what = "dp", .ps = 50},
                     {.kind = TimeKind::kBubble, .what = "", .ps = 100},
                     {.kind = TimeKind::kHost, .what = "", .ps = 100}});
  const std::vector<workload::PriceCoverage> coverage{
      {.gpu = "H100", .operators = 10, .extrapolated = 4, .by_other_gpus = 3}};

  const StepTraits traits = TraitsOf(breakdown, workload::Job(), coverage);

  EXPECT_DOUBLE_EQ(traits.shares[kGemms], 0.5);  // a bubble is the compute of others
  EXPECT_DOUBLE_EQ(traits.shares[kAttention], 0.1);
  EXPECT_DOUBLE_EQ(traits.shares[kMemory], 0.1);
  EXPECT_DOUBLE_EQ(traits.shares[kCommunication], 0.2);
  EXPECT_DOUBLE_EQ(traits.shares[kHost], 0.1);
  EXPECT_DOUBLE_EQ(traits.bubble, 0.1);
  EXPECT_DOUBLE_EQ(traits.unmeasured, 0.3);
  EXPECT_FALSE(traits.has_experts);
}

TEST(IntervalTest, AJobOfMoreGpusThanAnIslandHasSpansIslands) {
  workload::Job job;
  job.gpus = 16;
  job.cluster.island.gpus = 8;
  EXPECT_TRUE(TraitsOf(kGemmsOnly, job, {}).spans_islands);
  job.cluster.island.gpus = 72;
  EXPECT_FALSE(TraitsOf(kGemmsOnly, job, {}).spans_islands);
}

TEST(IntervalTest, AnIntervalIsTheOneOfItsClassAroundTheStep) {
  const workload::Job job;
  const learn::TimeInterval interval = IntervalOf(kGemmsOnly, job, {});
  const learn::TimeInterval of_class = ShippedIntervals().Around(1, TraitsOf(kGemmsOnly, job, {}));

  EXPECT_DOUBLE_EQ(interval.low_s, of_class.low_s);
  EXPECT_DOUBLE_EQ(interval.high_s, of_class.high_s);
  EXPECT_TRUE(interval.Contains(1));
}

TEST(IntervalTest, WhatTwoPlansShareCancelsInTheirRatio) {
  const Breakdown twice =
      BreakdownWith({{.kind = TimeKind::kCompute, .what = "products", .ps = 2'000'000'000'000}});
  const double noise = workload::Population().noise;
  const workload::Job job;

  // The same shares: only the noise of two runs is left.
  const learn::TimeInterval same = IntervalOfRatio(kGemmsOnly, twice, job);
  EXPECT_NEAR(same.high_s, 2 * std::exp(1.2816 * std::sqrt(2) * noise), 1e-9);
  EXPECT_NEAR(same.low_s * same.high_s, 4, 1e-9);

  const Breakdown host_bound =
      BreakdownWith({{.kind = TimeKind::kHost, .what = "", .ps = 2'000'000'000'000}});
  EXPECT_GT(WidthOf(IntervalOfRatio(kGemmsOnly, host_bound, job)), WidthOf(same));
}

}  // namespace
}  // namespace orrery::simulate
