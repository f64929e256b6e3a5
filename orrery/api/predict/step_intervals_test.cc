#include "orrery/api/predict/step_intervals.h"

#include <gtest/gtest.h>

#include "orrery/learn/interval.h"

namespace orrery::api {
namespace {

bool IsWithin(const learn::TimeInterval& inner, const learn::TimeInterval& outer) {
  return outer.low_s < inner.low_s && inner.high_s < outer.high_s;
}

TEST(StepIntervalsTest, HoldThePredictedStep) {
  for (const bool is_recorded : {false, true}) {
    for (const double host_bound : {0.0, 0.2, 0.9}) {
      EXPECT_TRUE(
          IntervalOfStep(1, {.is_recorded = is_recorded, .host_bound = host_bound}).Contains(1));
    }
  }
}

TEST(StepIntervalsTest, UnknownHostWidensWhatTheHostBinds) {
  const StepKind bound{.host_bound = 0.8};
  StepKind given = bound;
  given.is_host_given = true;

  EXPECT_TRUE(IsWithin(IntervalOfStep(1, given), IntervalOfStep(1, bound)));
}

TEST(StepIntervalsTest, UnknownHostChangesNothingWhereTheGpuBinds) {
  const learn::TimeInterval unknown = IntervalOfStep(1, {});
  const learn::TimeInterval given = IntervalOfStep(1, {.is_host_given = true});

  EXPECT_EQ(unknown.low_s, given.low_s);
  EXPECT_EQ(unknown.high_s, given.high_s);
}

TEST(StepIntervalsTest, UnmodelledAndRescaledKernelsWiden) {
  const learn::TimeInterval known = IntervalOfStep(1, {.is_recorded = true});

  EXPECT_TRUE(IsWithin(known, IntervalOfStep(1, {.is_recorded = true, .is_rescaled = true})));
  EXPECT_TRUE(IsWithin(known, IntervalOfStep(1, {.is_recorded = true, .unmodelled = 0.3})));
  EXPECT_TRUE(IsWithin(known, IntervalOfStep(1, {.is_recorded = true, .loader_error = 0.3})));
}

}  // namespace
}  // namespace orrery::api
