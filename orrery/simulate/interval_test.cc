#include "orrery/simulate/interval.h"

#include <cmath>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/learn/interval.h"
#include "orrery/simulate/breakdown.h"
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

workload::Job JobOf(bool is_fitted) {
  workload::Job job;
  job.framework.is_fitted = is_fitted;
  return job;
}

double WidthOf(const learn::TimeInterval& interval) {
  return std::log(interval.high_s / interval.low_s);
}

const Breakdown kGemmsOnly =
    BreakdownWith({{.kind = TimeKind::kCompute, .what = "products", .ps = 1'000'000'000'000}});

TEST(IntervalTest, GemmsFollowTheSpreadOfTheirScalar) {
  const workload::ScalarPopulation& population = workload::Population();
  // Of the scalars, only the rate of GEMMs and the spread of ranks matter.
  const double of_spread = 3 * population.mean.spread * population.deviation[5];
  const double deviation =
      std::sqrt(population.noise * population.noise +
                population.deviation[0] * population.deviation[0] + of_spread * of_spread);

  const learn::TimeInterval interval = IntervalOf(kGemmsOnly, JobOf(false), {});

  EXPECT_NEAR(interval.high_s, std::exp(1.2816 * deviation), 1e-9);
  EXPECT_NEAR(interval.low_s * interval.high_s, 1, 1e-9);  // of one second, symmetric in logarithms
  EXPECT_TRUE(interval.Contains(1));
}

TEST(IntervalTest, AFrameworkWithRowsIsSurer) {
  EXPECT_LT(WidthOf(IntervalOf(kGemmsOnly, JobOf(true), {})),
            WidthOf(IntervalOf(kGemmsOnly, JobOf(false), {})));
}

TEST(IntervalTest, UnmeasuredKernelsWidenIt) {
  const std::vector<workload::PriceCoverage> measured{{.gpu = "H100", .operators = 10}};
  const std::vector<workload::PriceCoverage> unmeasured{
      {.gpu = "H100", .operators = 10, .by_other_gpus = 10}};

  EXPECT_LT(WidthOf(IntervalOf(kGemmsOnly, JobOf(true), measured)),
            WidthOf(IntervalOf(kGemmsOnly, JobOf(true), unmeasured)));
}

TEST(IntervalTest, AHostThatIsTheBottleneckWidensIt) {
  const Breakdown host_bound =
      BreakdownWith({{.kind = TimeKind::kHost, .what = "", .ps = 1'000'000'000'000}});

  EXPECT_GT(WidthOf(IntervalOf(host_bound, JobOf(true), {})),
            WidthOf(IntervalOf(kGemmsOnly, JobOf(true), {})));
}

TEST(IntervalTest, WhatTwoPlansShareCancelsInTheirRatio) {
  const Breakdown twice =
      BreakdownWith({{.kind = TimeKind::kCompute, .what = "products", .ps = 2'000'000'000'000}});
  const double noise = workload::Population().noise;

  // The same shares: only the noise of two runs is left.
  const learn::TimeInterval same = IntervalOfRatio(kGemmsOnly, twice, JobOf(false));
  EXPECT_NEAR(same.high_s, 2 * std::exp(1.2816 * std::sqrt(2) * noise), 1e-9);
  EXPECT_NEAR(same.low_s * same.high_s, 4, 1e-9);

  const Breakdown host_bound =
      BreakdownWith({{.kind = TimeKind::kHost, .what = "", .ps = 2'000'000'000'000}});
  EXPECT_GT(WidthOf(IntervalOfRatio(kGemmsOnly, host_bound, JobOf(false))), WidthOf(same));
}

}  // namespace
}  // namespace orrery::simulate
