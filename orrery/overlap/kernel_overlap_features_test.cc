#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/overlap/concurrent_kernels.h"
#include "orrery/overlap/features.h"

namespace orrery::overlap {
namespace {

// 132 blocks, one a multiprocessor, each for as long as the kernel; communication takes eight.
Pair MadeUpPair() {
  Pair pair;
  pair.compute = {.kind = "gemm", .alone_us = 40, .flops = 1e9, .bytes = 1e6, .flops_peak = 1e15};
  pair.compute.shape = {.blocks = 132, .threads = 384, .registers = 168, .shared_bytes = 220'000};
  pair.communication.shape = {.blocks = 8, .threads = 544, .registers = 96, .shared_bytes = 82'240};
  pair.communication.payload_gbps = 50;
  return pair;
}

double Value(const std::optional<KernelOverlap>& overlap, std::string_view name) {
  std::vector<float> row;
  AppendKernelOverlapFeatures(MachineOf(*hardware::FindGpu("H200")), MadeUpPair(), overlap, row);
  const auto names = KernelOverlapFeatureNames();
  return row.at(static_cast<std::size_t>(std::ranges::find(names, name) - names.begin()));
}

TEST(KernelOverlapFeatures, BlocksWaitUntilCommunicationGoes) {
  // It came 20 µs before and takes 30: it goes after 10 of 40, and eight blocks begin then.
  const KernelOverlap overlap{.compute_is_first = false, .offset_us = 20, .communication_us = 30};
  EXPECT_NEAR(Value(overlap, "ln_met_blocks"), std::log(1.25), 1e-6);
  EXPECT_NEAR(Value(overlap, "end_share"), 0.25, 1e-6);
  // 1.5 µs more or less.
  EXPECT_NEAR(Value(overlap, "ln_met_blocks_if_earlier"), std::log(48.5 / 40), 1e-6);
  EXPECT_NEAR(Value(overlap, "ln_met_blocks_if_later"), std::log(51.5 / 40), 1e-6);
}

TEST(KernelOverlapFeatures, LaunchNoiseMayTurnTheOrderRound) {
  // The kernel fills the GPU when it is first; half a microsecond later, communication may be.
  const KernelOverlap overlap{.compute_is_first = true, .offset_us = 0.5, .communication_us = 31};
  EXPECT_NEAR(Value(overlap, "ln_met_blocks"), 0, 1e-6);
  EXPECT_NEAR(Value(overlap, "ln_met_blocks_if_earlier"), std::log(70.0 / 40), 1e-6);
}

TEST(KernelOverlapFeatures, CommunicationThatStaysCostsAWave) {
  EXPECT_NEAR(Value(std::nullopt, "ln_met_blocks"), std::log(2), 1e-6);
  EXPECT_EQ(Value(std::nullopt, "all_the_time"), 1);
}

}  // namespace
}  // namespace orrery::overlap
