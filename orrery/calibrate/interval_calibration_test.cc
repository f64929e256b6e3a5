#include "orrery/calibrate/interval_calibration.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/learn/interval.h"
#include "orrery/simulate/explain/step_intervals.h"

namespace orrery::calibrate {
namespace {

using simulate::IntervalsText;
using simulate::kOfUnmeasured;
using simulate::ReadStepIntervals;
using simulate::ShippedIntervals;
using simulate::StepIntervals;
using simulate::StepTraits;
using testing::HasSubstr;

/// Of each stack 101 residuals, evenly from −width to +width.
std::vector<StepResidual> Stacks(const std::vector<double>& widths, const StepTraits& traits = {}) {
  std::vector<StepResidual> residuals;
  for (std::size_t stack = 0; stack < widths.size(); ++stack) {
    for (int i = -50; i <= 50; ++i) {
      residuals.push_back({"stack " + std::to_string(stack), traits, widths[stack] * i / 50});
    }
  }
  return residuals;
}

double Share(const StepIntervals& intervals, const std::vector<StepResidual>& residuals) {
  double inside = 0;
  for (const StepResidual& residual : residuals) {
    const bool is_inside =
        intervals.Around(1, residual.traits).Contains(std::exp(residual.log_ratio));
    inside += is_inside ? 1 : 0;
  }
  return inside / static_cast<double>(residuals.size());
}

StepTraits Unmeasured(double share) {
  StepTraits traits;
  traits.unmeasured = share;
  return traits;
}

TEST(IntervalCalibrationTest, FourOfFiveResidualsOfEqualStacksAreInside) {
  const std::vector<StepResidual> residuals = Stacks({0.2, 0.2, 0.2, 0.2});
  const StepIntervals intervals = CalibrateIntervals(residuals);
  EXPECT_NEAR(Share(intervals, residuals), 0.8, 0.05);
  EXPECT_NEAR(intervals.stretch, 1, 0.05);  // no stack differs from the others
  EXPECT_EQ(intervals.rows, 404);
  EXPECT_EQ(intervals.stacks, 4);
}

// The one that is left out is twice as wide as those that the ends are fitted to.
TEST(IntervalCalibrationTest, StacksThatDifferStretchIt) {
  const StepIntervals alike = CalibrateIntervals(Stacks({0.2, 0.2, 0.2}));
  const StepIntervals different = CalibrateIntervals(Stacks({0.1, 0.2, 0.4}));
  EXPECT_GT(different.stretch, alike.stretch);
}

TEST(IntervalCalibrationTest, AStackOfManyRowsCountsLikeOneOfFew) {
  std::vector<StepResidual> residuals = Stacks({0.1, 0.1, 0.1, 0.3});
  const StepIntervals intervals = CalibrateIntervals(residuals);
  const std::vector<StepResidual> again = residuals;
  for (const StepResidual& residual : again) {
    if (residual.stack == "stack 3") {
      residuals.insert(residuals.end(), 5, residual);
    }
  }
  const StepIntervals with_copies = CalibrateIntervals(residuals);
  EXPECT_NEAR(intervals.above.always, with_copies.above.always, 1e-3);
}

TEST(IntervalCalibrationTest, MoreOfACauseIsNeverSurer) {
  std::vector<StepResidual> residuals = Stacks({0.1, 0.1, 0.1});
  for (const StepResidual& wide : Stacks({0.4, 0.4, 0.4}, Unmeasured(0.8))) {
    residuals.push_back(wide);
  }
  const StepIntervals intervals = CalibrateIntervals(residuals);
  double last = 0;
  for (const double share : {0.0, 0.2, 0.5, 0.8}) {
    const learn::TimeInterval interval = intervals.Around(1, Unmeasured(share));
    EXPECT_GT(interval.high_s / interval.low_s, last);
    last = interval.high_s / interval.low_s;
  }
  // A cause that made predictions better changes nothing.
  std::vector<StepResidual> other_way = Stacks({0.4, 0.4, 0.4});
  for (const StepResidual& narrow : Stacks({0.1, 0.1, 0.1}, Unmeasured(0.8))) {
    other_way.push_back(narrow);
  }
  EXPECT_DOUBLE_EQ(CalibrateIntervals(other_way).above.by_cause[kOfUnmeasured], 0);
}

TEST(IntervalCalibrationTest, AnUnmeasuredGpuWidensTheShippedIntervals) {
  StepTraits traits;
  double last = 0;
  for (const double share : {0.0, 0.5, 1.0}) {
    traits.unmeasured = share;
    const learn::TimeInterval interval = ShippedIntervals().Around(1, traits);
    EXPECT_GE(interval.high_s / interval.low_s, last);
    last = interval.high_s / interval.low_s;
  }
}

StepTraits Dense(double utilisation, bool spans_islands) {
  StepTraits traits;
  traits.utilisation = utilisation;
  traits.spans_islands = spans_islands;
  return traits;
}

TEST(IntervalCalibrationTest, AnIdlePlanOverSeveralIslandsIsNeverSurerThanOneInside) {
  for (const double utilisation : {0.1, 0.2, 0.3, 0.4, 0.6}) {
    const learn::TimeInterval inside = ShippedIntervals().Around(1, Dense(utilisation, false));
    const learn::TimeInterval across = ShippedIntervals().Around(1, Dense(utilisation, true));
    EXPECT_GE(across.high_s / across.low_s, inside.high_s / inside.low_s);
  }
}

TEST(IntervalCalibrationTest, WideIntervalsSayWhy) {
  const StepIntervals intervals{.below = {.always = 0.1},
                                .above = {.always = 0.2, .by_cause = {2, 4, 0.5, 0.5}}};
  // Half of what good steps use is unused: 0.25 of each cause, exp(0.5) and exp(1).
  const std::string wide = WideIntervalSentence(intervals, Dense(0.25, true));
  EXPECT_THAT(wide, HasSubstr("uses 25 % of the GPUs' peak (x 1.6)"));
  EXPECT_THAT(wide, HasSubstr("several nodes (x 2.7)"));
  EXPECT_EQ(WideIntervalSentence(intervals, Dense(0.5, true)), "");
  EXPECT_THAT(WideIntervalSentence(intervals, Dense(0, false)), HasSubstr("are not counted"));
}

TEST(IntervalCalibrationTest, APredictionIsInsideOfItsInterval) {
  const StepIntervals intervals = CalibrateIntervals(Stacks({0.1, 0.2, 0.3}));
  EXPECT_TRUE(intervals.Around(7, {}).Contains(7));
}

TEST(IntervalCalibrationTest, TwoStacksTellTooLittle) {
  EXPECT_EQ(CalibrateIntervals(Stacks({0.1, 0.2})).above, ShippedIntervals().above);
  EXPECT_EQ(CalibrateIntervals({}).below, ShippedIntervals().below);
}

TEST(IntervalCalibrationTest, NoEndIsBelowTheRoofline) {
  const StepIntervals intervals{.below = {.always = 1}, .above = {.always = 1}};
  StepTraits traits;
  traits.roofline_s = 0.9;
  EXPECT_DOUBLE_EQ(intervals.Around(1, traits).low_s, 0.9);
  traits.roofline_s = 2;  // a prediction below it stays inside its interval
  EXPECT_DOUBLE_EQ(intervals.Around(1, traits).low_s, 1);
}

TEST(IntervalCalibrationTest, TheFileReadsBackAsItWasWritten) {
  const StepIntervals intervals = CalibrateIntervals(Stacks({0.1, 0.2, 0.3}, Unmeasured(0.5)));
  const auto read = ReadStepIntervals(IntervalsText(intervals));
  ASSERT_TRUE(read) << read.error().message();
  EXPECT_NEAR(read->above.DistanceOf(Unmeasured(0.5)), intervals.above.DistanceOf(Unmeasured(0.5)),
              1e-3);
  EXPECT_EQ(IntervalsText(*read), IntervalsText(intervals));
}

TEST(IntervalCalibrationTest, AFileWithoutIntervalsOrWithOtherCausesIsRefused) {
  const auto without = ReadStepIntervals("fits: []\n");
  ASSERT_FALSE(without);
  EXPECT_THAT(without.error().message(), HasSubstr("fit frameworks"));
  const auto other = ReadStepIntervals(
      "intervals: {below: {always: 0.1, weather: 1}, above: {always: 0.1}, rows: 1, stacks: 1}\n");
  ASSERT_FALSE(other);
  EXPECT_THAT(other.error().message(), HasSubstr("weather"));
}

}  // namespace
}  // namespace orrery::calibrate
