#include "orrery/compat/astra_sim/astra_sim.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/base/units.h"

namespace orrery::compat::astra_sim {
namespace {

constexpr Bytes kMebibyte{1 << 20};

// The regression of ASTRA-sim: m = 2^20 / 4 / 8 = 32,768; a hop is 500 + 32,768 / 53.687 = 1,110;
// memory 32,768 / 50 = 655. 10 + 14 * 1,110 + 7 * (10 + 3 * 655) + 7 * 10 = 29,445, four times.
TEST(AstraSimTest, AllReduceOnARingOfEight) {
  const System system{.network = {8, 50, 500}, .splits = 4, .memory_gb_per_second = 50};
  EXPECT_EQ(RingAllReduceTime(system, kMebibyte)->nanoseconds, 117'780);
}

// m = 2^20 / 4; a hop 500 + 262,144 / 53.687 = 5,382; 10 + 15 * 5,382 + 15 * 10 = 80,890, four
// times.
TEST(AstraSimTest, AllGatherOnARingOfSixteen) {
  const System system{.network = {16, 50, 500}, .splits = 4, .memory_gb_per_second = 1600};
  EXPECT_EQ(RingAllGatherTime(system, kMebibyte)->nanoseconds, 323'560);
}

// 10 + 7 * (1,110 + 10 + 3 * 655) = 21,605, four times. The gathering half, of shares of 1/8 of the
// buffer, begins without the first delay: 29,445 - 21,605 = 7 * 1,120.
TEST(AstraSimTest, ReduceScatterIsTheFirstHalfOfAllReduce) {
  const System system{.network = {8, 50, 500}, .splits = 4, .memory_gb_per_second = 50};
  const std::int64_t scatter = RingReduceScatterTime(system, kMebibyte)->nanoseconds;
  const std::int64_t gather = RingAllGatherTime(system, {kMebibyte.count / 8})->nanoseconds;
  EXPECT_EQ(scatter, 86'420);
  EXPECT_EQ(scatter + gather - 4 * system.delay_before_send.nanoseconds, 117'780);
}

TEST(AstraSimTest, InvalidSystemsAreRejected) {
  System system{.network = {1, 50, 500}, .splits = 4, .memory_gb_per_second = 50};
  EXPECT_EQ(RingAllReduceTime(system, kMebibyte).error().message(),
            "a dimension needs at least 2 NPUs, not 1");
  system.network = {8, 0, 500};
  EXPECT_EQ(RingAllReduceTime(system, kMebibyte).error().message(),
            "the bandwidth of a link must be above 0, not 0");
  system.network.gib_per_second = 50;
  system.splits = 0;
  EXPECT_EQ(RingAllGatherTime(system, kMebibyte).error().message(),
            "a collective needs at least 1 split and 2 NPUs, not 0 and 8");
}

}  // namespace
}  // namespace orrery::compat::astra_sim
