#include "orrery/kernel/power.h"

#include <array>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using ::testing::DoubleNear;

hardware::Gpu GpuNamed(const char* name) {
  return *hardware::FindGpu(name);
}

// A board of 100 W that draws 20 W idle and 160 W in its tensor cores at full clock.
SustainedClock SimpleClock(double limit_w = 100) {
  return {{.idle_w = 20, .tensor_w = 160, .burst_short = 10, .burst_long = 10}, limit_w, 100};
}

KernelLoad Busy(double tensor_share) {
  return {.seconds = 1e-4, .tensor_share = tensor_share};
}

TEST(SustainedClockTest, TensorCoresFollowTheLimit) {
  const WeightedLoad load{Busy(1), 1};

  // 20 + 160 · x^2.4 = 100 at x^2.4 = 0.5.
  const SustainedState state = SimpleClock().Of({&load, 1});

  EXPECT_THAT(state.clock, DoubleNear(std::pow(0.5, 1 / 2.4), 1e-6));
  EXPECT_THAT(state.watts, DoubleNear(100, 1e-3));
  EXPECT_THAT(SimpleClock().Slowdown(load.load, state.clock), DoubleNear(1 / state.clock, 1e-9));
}

TEST(SustainedClockTest, WhatDrawsLittleKeepsTheHighestClock) {
  const WeightedLoad load{Busy(0.25), 1};

  const SustainedState state = SimpleClock().Of({&load, 1});

  EXPECT_EQ(state.clock, 1);
  EXPECT_THAT(state.watts, DoubleNear(60, 1e-9));  // 20 + 0.25 · 160
}

TEST(SustainedClockTest, KernelsOfAStepShareOneClock) {
  // Half of the time 180 W, half 20 W: 100 W in the mean, which is the limit.
  const std::array<WeightedLoad, 2> loads{{{Busy(1), 3}, {Busy(0), 3}}};

  EXPECT_THAT(SimpleClock().Of(loads).clock, DoubleNear(1, 1e-6));
}

TEST(SustainedClockTest, ALowerLimitIsALowerClock) {
  const WeightedLoad load{Busy(1), 1};
  const double at_80 = SimpleClock(80).Of({&load, 1}).clock;

  EXPECT_THAT(at_80, DoubleNear(std::pow(60.0 / 160, 1 / 2.4), 1e-6));
}

TEST(SustainedClockTest, MemoryBoundKernelsKeepTheirTime) {
  const KernelLoad copy{.seconds = 1e-4, .memory_share = 0.9};

  EXPECT_EQ(SimpleClock().Slowdown(copy, 0.5), 1);
}

TEST(SustainedClockTest, ABurstThatWasThrottledLosesLess) {
  const SustainedClock clock({.idle_w = 20, .tensor_w = 160, .burst_short = 1.4, .burst_long = 1.4},
                             100, 100);
  // In the burst 20 + 160 · u · x^1.4 = 140, where u = 1 was measured: x^1.4 = 0.75.
  const double burst_clock = std::pow(0.75, 1 / 1.4);
  const WeightedLoad load{Busy(1), 1};

  const double sustained = clock.Of({&load, 1}).clock;

  // Per cycle it does 1 / burst_clock: 160 / burst_clock · x^2.4 = 80.
  EXPECT_THAT(sustained, DoubleNear(std::pow(0.5 * burst_clock, 1 / 2.4), 1e-6));
  EXPECT_THAT(clock.Slowdown(load.load, sustained), DoubleNear(burst_clock / sustained, 1e-6));
}

TEST(PowerOfTest, SiblingsAreScaledFromMeasuredBoards) {
  const BoardPower h200 = PowerOf(GpuNamed("H200"));
  const BoardPower h100 = PowerOf(GpuNamed("H100"));

  EXPECT_EQ(h100.measured_on, "H200");
  EXPECT_EQ(h100.tensor_w, h200.tensor_w);  // the same peak
  EXPECT_THAT(h100.memory_w, DoubleNear(h200.memory_w * 3350 / 4800, 1e-6));
}

TEST(PowerOfTest, AnAcceleratorOfUnknownEnergyIsNotLimited) {
  const hardware::Gpu tpu = GpuNamed("TPU-v6e");
  const Operator gemm = *ParseOperator("gemm m=8192 n=8192 k=8192 bf16");

  EXPECT_EQ(SustainedSeconds(gemm, tpu, 1e-3), 1e-3);
}

TEST(SustainedSecondsTest, LargeGemmsOfAnL4LoseMoreThanThoseOfAnH100) {
  const Operator gemm = *ParseOperator("gemm m=8192 n=8192 k=8192 bf16");
  const auto loss = [&](const char* name) {
    const hardware::Gpu gpu = GpuNamed(name);
    const double burst = 2 * 8192.0 * 8192 * 8192 / *gpu.PeakFlops("bf16") / 0.75;
    return SustainedSeconds(gemm, gpu, burst) / burst;
  };

  EXPECT_GT(loss("H100"), 1.05);
  EXPECT_GT(loss("L4"), loss("H100") + 0.05);
}

}  // namespace
}  // namespace orrery::kernel
