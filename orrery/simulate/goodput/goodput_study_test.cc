#include "orrery/simulate/goodput/goodput_study.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "orrery/learn/interval.h"
#include "orrery/simulate/goodput/checkpoint.h"
#include "orrery/simulate/goodput/failure_rates.h"
#include "orrery/simulate/goodput/goodput.h"

namespace orrery::simulate {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000'000;

// A job of 16,384 GPUs with the failures of Llama 3, checkpoints of 20 s, steps of 5 s.
GoodputRequest Request() {
  GoodputRequest request{.job = {.step_ps = 5 * kSecond,
                                 .nodes = 2'048,
                                 .gpus = 16'384,
                                 .gpus_per_node = 8,
                                 .replicas = 128},
                         .failures = FailuresOf(ShippedFailureRates().front(),
                                                {.gpus = 16'384, .nics = 16'384, .nodes = 2'048}),
                         .chooses_interval = true,
                         .chooses_spares = true,
                         .runs = 40,
                         .threads = 1};
  request.options = {.window_ps = 30 * 86'400 * kSecond,
                     .checkpoint = {.stall_ps = 20 * kSecond, .load_ps = 20 * kSecond},
                     .detect_ps = 120 * kSecond,
                     .restart_ps = 480 * kSecond,
                     .repair_ps = 86'400 * kSecond};
  return request;
}

TEST(GoodputStudyTest, TheChosenIntervalIsYoungsAndDalysAndBeatsOthers) {
  const GoodputStudy study = StudyGoodput(Request());

  const double interval_s = static_cast<double>(study.options.interval_steps) * 5;
  const double mtbf_s = 54 * 86'400 / 419.0;  // without what was planned
  EXPECT_NEAR(interval_s / YoungInterval(20, mtbf_s), 1, 0.05);
  EXPECT_NEAR(interval_s / DalyInterval(20, mtbf_s), 1, 0.05);
  ASSERT_EQ(study.intervals.size(), 5U);
  for (const GoodputVariant& variant : study.intervals) {
    EXPECT_LE(variant.summary.ettr_mean, study.intervals[2].summary.ettr_mean);
  }
}

// 5.2 nodes fail a day and take a day to repair: as many are in repair in the mean, and a Poisson
// number is above 12 in one of 250 cases. Fewer spares wait, many more idle.
TEST(GoodputStudyTest, TheChosenSparesCoverWhatIsInRepair) {
  const GoodputStudy study = StudyGoodput(Request());

  EXPECT_GE(study.options.spares, 6);
  EXPECT_LE(study.options.spares, 24);
  EXPECT_LT(study.spares.front().summary.ettr_mean, 0.5);
  for (const GoodputVariant& variant : study.spares) {
    EXPECT_LE(variant.PaidShare(2'048), study.chosen.PaidShare(2'048) + 0.002);
  }
}

TEST(GoodputStudyTest, WithoutFailuresNoCheckpointPays) {
  GoodputRequest request = Request();
  request.failures = {};

  const GoodputStudy study = StudyGoodput(request);

  EXPECT_EQ(study.options.interval_steps, 0);
  EXPECT_EQ(study.options.spares, 0);
  EXPECT_EQ(study.chosen.summary.ettr_mean, 1);
}

TEST(GoodputStudyTest, WhatIsGivenIsKept) {
  GoodputRequest request = Request();
  request.chooses_interval = false;
  request.chooses_spares = false;
  request.options.interval_steps = 7;
  request.options.spares = 5;

  const GoodputStudy study = StudyGoodput(request);

  EXPECT_EQ(study.chosen.interval_steps, 7);
  EXPECT_EQ(study.chosen.spares, 5);
  EXPECT_EQ(study.months.size(), 40U);
  EXPECT_TRUE(study.best_s.has_value());
}

TEST(GoodputStudyTest, StepsOfAWindowAreAsUncertainAsTheirTimeAndTheWindows) {
  const GoodputSummary summary{
      .ettr_mean = 0.9, .ettr_p10 = 0.81, .ettr_p50 = 0.9, .ettr_p90 = 0.99};
  // Without an interval of the step only windows differ: 0.81 / 0.9 and 0.99 / 0.9.
  const WindowFactors of_windows = FactorsOf(summary, std::nullopt);
  EXPECT_NEAR(of_windows.low, 0.9, 1e-12);
  EXPECT_NEAR(of_windows.high, 1.1, 1e-12);

  // ln 0.9 = -0.10536, ln 1.2 = 0.18232: together 0.21058, a factor of 0.8101; a step that may be
  // 20 % longer makes fewer of them. ln 1.1 = 0.09531, ln 0.95 = -0.05129: 0.10824, 1.1143.
  const WindowFactors both = FactorsOf(summary, learn::TimeInterval{.low_s = 0.95, .high_s = 1.2});
  EXPECT_NEAR(both.low, 0.8101, 1e-4);
  EXPECT_NEAR(both.high, 1.1143, 1e-4);
}

}  // namespace
}  // namespace orrery::simulate
