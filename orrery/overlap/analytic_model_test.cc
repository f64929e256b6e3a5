#include "orrery/overlap/analytic_model.h"

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

Machine FourTerabytes() {
  Machine machine = MachineOf(*hardware::FindGpu("H200"));
  machine.memory_gbps = 4200;
  return machine;
}

Pair Streaming(double traffic_gbps, double payload_gbps) {
  Pair pair;
  pair.compute = {.kind = "elementwise", .alone_us = 100, .bytes = traffic_gbps * 1e5};
  pair.communication.shape = {
      .blocks = 16, .threads = 544, .registers = 96, .shared_bytes = 82'240};
  pair.communication.pattern = Pattern::kReduceCopy;
  pair.communication.payload_gbps = payload_gbps;
  return pair;
}

TEST(AnalyticModel, BothGetTheirShareOfTheMemory) {
  // 3,900 GB/s and three times 360 are 4,980 of 4,200: 1.186 times as long for both.
  const AnalyticParts parts = PartsOf(FourTerabytes(), Streaming(3900, 360));
  EXPECT_NEAR(parts.load, 4980.0 / 4200, 1e-9);
  EXPECT_NEAR(parts.memory, 4980.0 / 4200, 1e-9);
  EXPECT_NEAR(parts.communication, 4980.0 / 4200, 1e-9);
}

TEST(AnalyticModel, NothingIsSharedBelowTheBandwidth) {
  const AnalyticParts parts = PartsOf(FourTerabytes(), Streaming(1000, 100));
  EXPECT_DOUBLE_EQ(parts.memory, 1);
  EXPECT_DOUBLE_EQ(parts.communication, 1);
  // An unknown launch has many waves: 132 of 116 multiprocessors, felt by the 76 % that are not
  // bound by memory.
  EXPECT_NEAR(parts.compute, 1 + (132.0 / 116 - 1) * (1 - 1000.0 / 4200), 1e-9);
}

TEST(AnalyticModel, CommunicationWaitsForTheLastWave) {
  // 1,056 blocks of four times 264: after 30 of 100 µs the last wave begins in 45 µs; it fills the
  // GPU, so communication waits for the end.
  Pair pair = Streaming(0, 100);
  pair.compute.shape = {.blocks = 1056, .threads = 128, .registers = 168, .shared_bytes = 102'400};
  const Arrival arrival{.compute_is_first = true, .since_us = 30, .first_us = 100};
  EXPECT_DOUBLE_EQ(AnalyticModel().DelayUs(FourTerabytes(), pair, arrival), 70);
  // A last wave of 64 blocks leaves room: it waits for its begin, at 4/5 of the time.
  pair.compute.shape.blocks = 1056 + 64;
  EXPECT_DOUBLE_EQ(AnalyticModel().DelayUs(FourTerabytes(), pair, arrival), 50);
  // With priority it waits for the next wave only: 20 µs each, the second ends at 40.
  pair.communication.priority = Priority::kCommunication;
  EXPECT_DOUBLE_EQ(AnalyticModel().DelayUs(FourTerabytes(), pair, arrival), 10);
}

TEST(AnalyticModel, ComputingWaitsWhereThereIsNoRoomAtAll) {
  Pair pair = Streaming(0, 100);
  pair.compute.shape = {.blocks = 100, .threads = 384, .registers = 168, .shared_bytes = 200'000};
  const Arrival arrival{.compute_is_first = false, .since_us = 20, .first_us = 50};
  EXPECT_DOUBLE_EQ(AnalyticModel().DelayUs(FourTerabytes(), pair, arrival), 0);
  pair.communication.shape.blocks = 132;
  EXPECT_DOUBLE_EQ(AnalyticModel().DelayUs(FourTerabytes(), pair, arrival), 30);
}

}  // namespace
}  // namespace orrery::overlap
