#include "orrery/simulate/goodput/step_jitter.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"

namespace orrery::simulate {
namespace {

JitterModel WithoutStalls(double sigma, double persistence) {
  return {.step_sigma = sigma, .persistence = persistence};
}

std::vector<double> Steps(const StepJitter& jitter, std::uint64_t seed, std::size_t count) {
  StepSequence sequence(jitter, seed);
  std::vector<double> steps;
  for (std::size_t i = 0; i < count; ++i) {
    steps.push_back(sequence.Next());
  }
  return steps;
}

TEST(JitterModelTest, IndependentStepsAverageByTheRootOfTheirNumber) {
  const JitterModel model = WithoutStalls(0.02, 0);

  EXPECT_DOUBLE_EQ(model.WindowSigma(1), 0.02);
  EXPECT_DOUBLE_EQ(model.WindowSigma(4), 0.01);
  EXPECT_DOUBLE_EQ(model.WindowSigma(100), 0.002);
}

// Persistence 1/2: half of the variance changes every step, a quarter every second one, the rest
// later. Of the mean of two steps the first part has 1/2 left. Two steps are in the same block of
// 2^j with probability 1 - 2^-j, so that a part has 1/2 + (1 - 2^-j)/2 left: with shares 2^-(j+1)
// that is 1 - Σ 2^-(2j+2) = 1 - 1/3 (1 - 4^-12) over the twelve levels.
TEST(JitterModelTest, SlowNoiseDoesNotAverageOut) {
  const double variance = 1 - (1 - std::pow(4.0, -12)) / 3;

  EXPECT_NEAR(WithoutStalls(1, 0.5).WindowSigma(2), std::sqrt(variance), 1e-12);
}

// (1 + 0.5 x / 0.1)^-2 is 1/4 at 0.2 s.
TEST(JitterModelTest, StallsAreOfAGeneralisedParetoDistribution) {
  const JitterModel model{.stall_scale_s = 0.1, .stall_shape = 0.5, .longest_stall_s = 1e9};

  EXPECT_DOUBLE_EQ(model.StallSurvival(0.2), 0.25);
  EXPECT_NEAR(model.StallQuantile(0.75), 0.2, 1e-9);
}

TEST(JitterModelTest, NoStallIsLongerThanTheLongestMeasured) {
  const JitterModel model{.stall_scale_s = 0.1, .stall_shape = 0.5, .longest_stall_s = 3};

  EXPECT_NEAR(model.StallQuantile(1), 3, 1e-9);
  EXPECT_DOUBLE_EQ(model.StallQuantile(0), 0);
}

TEST(JitterModelTest, ItsTextReadsBack) {
  JitterModel model{.step_sigma = 0.003,
                    .persistence = 0.64,
                    .sigma_deviation = 0.5,
                    .stalls_per_gpu_s = 1e-5,
                    .stall_scale_s = 0.01,
                    .stall_shape = 0.7,
                    .longest_stall_s = 9,
                    .systems = 3,
                    .submitters = 2,
                    .least_gpus = 8,
                    .most_gpus = 64,
                    .gpus = {"B200", "H200"}};

  const Result<JitterModel> read = ParseJitter(JitterText(model), "here");

  ASSERT_TRUE(read.has_value()) << read.error().message();
  EXPECT_EQ(JitterText(*read), JitterText(model));
  EXPECT_EQ(read->gpus, model.gpus);
}

TEST(JitterModelTest, AModelThatNeverForgetsIsRefused) {
  std::string text = JitterText(ShippedJitter());
  const std::size_t place = text.find("persistence: 0");
  ASSERT_NE(place, std::string::npos);
  text.replace(place, 14, "persistence: 1");

  const Result<JitterModel> read = ParseJitter(text, "here");

  ASSERT_FALSE(read.has_value());
  EXPECT_NE(read.error().message().find("persistence must be below 1"), std::string::npos);
}

TEST(JitterModelTest, WhatIsBeyondTheFittedSystemsIsNamed) {
  const JitterModel model{.least_gpus = 8, .most_gpus = 64, .gpus = {"B200"}};

  EXPECT_TRUE(BeyondFit(model, "B200", 64).empty());
  EXPECT_EQ(BeyondFit(model, "A100-80GB", 128),
            (std::vector<std::string>{"the GPU (A100-80GB)", "the number of GPUs (128)"}));
}

TEST(StepJitterTest, TheSameSeedGivesTheSameStepsAndAnotherOneOthers) {
  const StepJitter jitter(ShippedJitter(), 512, 2);

  EXPECT_EQ(Steps(jitter, 7, 50), Steps(jitter, 7, 50));
  EXPECT_NE(Steps(jitter, 7, 50), Steps(jitter, 8, 50));
}

TEST(StepJitterTest, ASequenceMayBeginAnywhere) {
  const StepJitter jitter(ShippedJitter(), 512, 2);
  const std::vector<double> steps = Steps(jitter, 3, 200);

  StepSequence later(jitter, 3, 137);

  EXPECT_EQ(later.Next(), steps[137]);
  EXPECT_EQ(later.Next(), steps[138]);
}

// Means of 8 steps of a sequence vary as the closed form says. Of 2000 runs the deviation itself
// is known to 1.6 %.
TEST(StepJitterTest, WindowsOfASequenceVaryAsTheModelSays) {
  const JitterModel model = WithoutStalls(0.01, 0.6);
  const StepJitter jitter(model, 1, 1);
  std::vector<double> means;
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    means.push_back(Mean(Steps(jitter, seed, 8)));
  }

  EXPECT_NEAR(StandardDeviation(means), model.WindowSigma(8), 0.05 * model.WindowSigma(8));
  EXPECT_LT(StandardDeviation(means), 0.01);
  EXPECT_GT(StandardDeviation(means), 0.01 / std::sqrt(8.0));
}

// A normal distribution: p95 is 1.645 deviations above the median, p99 2.326.
TEST(StepJitterTest, QuantilesOfABodyWithoutStallsAreThoseOfANormalDistribution) {
  const StepJitter jitter(WithoutStalls(0.01, 0), 8, 2);

  const StepDistribution steps = DrawSteps(jitter, 100'000, 1);

  EXPECT_NEAR(steps.QuantileS(0.5), 2, 0.001);
  EXPECT_NEAR(steps.QuantileS(0.95), 2 * 1.01645, 0.001);
  EXPECT_NEAR(steps.QuantileS(0.99), 2 * 1.02326, 0.001);
  EXPECT_NEAR(steps.mean_s, 2, 0.001);
}

// 8 GPUs · 2 s · 0.01 stalls a GPU-second = 0.16 a step. The mean of a stall is scale / (1 - shape)
// = 0.2 s, but for the longest; the median stays, since the body does not vary and fewer than half
// of the steps have a stall.
TEST(StepJitterTest, StallsComeWithGpusAndTimeAndLeaveTheMedian) {
  const JitterModel model{
      .stalls_per_gpu_s = 0.01, .stall_scale_s = 0.18, .stall_shape = 0.1, .longest_stall_s = 1000};
  const StepJitter jitter(model, 8, 2);

  const StepDistribution steps = DrawSteps(jitter, 100'000, 1);

  EXPECT_DOUBLE_EQ(jitter.stalls_per_step(), 0.16);
  EXPECT_DOUBLE_EQ(steps.QuantileS(0.5), 2);
  EXPECT_DOUBLE_EQ(steps.best_s(), 2);
  EXPECT_NEAR(steps.mean_s, 2 + 0.16 * 0.2, 0.001);
  EXPECT_NEAR(steps.QuantileS(std::exp(-0.16) - 0.01), 2, 1e-9);  // no stall in e^-0.16 of them
  EXPECT_GT(steps.QuantileS(std::exp(-0.16) + 0.01), 2.0001);
}

// With many stalls in every step the median is still the one that was given.
TEST(StepJitterTest, TheMedianStepIsTheGivenOneWithManyStallsToo) {
  const StepJitter jitter(ShippedJitter(), 100'000, 30);

  const StepDistribution steps = DrawSteps(jitter, 4'000, 5);

  EXPECT_GT(jitter.stalls_per_step(), 10);
  EXPECT_NEAR(steps.QuantileS(0.5), 30, 0.3);
  EXPECT_LT(steps.best_s(), 30);
}

TEST(StepJitterDeathTest, AStepTakesTime) {
  EXPECT_DEATH(StepJitter(ShippedJitter(), 8, 0), "a step takes time");
}

}  // namespace
}  // namespace orrery::simulate
