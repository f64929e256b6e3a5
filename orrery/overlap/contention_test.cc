#include <gtest/gtest.h>

#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

constexpr double kComputeUs = 100;

KernelOverlap Arrives(bool compute_is_first, double offset_us) {
  return {.compute_is_first = compute_is_first, .offset_us = offset_us, .communication_us = 60};
}

TEST(Contention, PlaysBothAtTheirPace) {
  // Alone for 40 µs, then both: 60 µs of work at half speed take 120, communication's 60 at 2/3
  // speed take 90 and end first. By then 45 are done and 15 left alone: 40 + 90 + 15.
  const OverlapTimeline timeline =
      SimulateOverlap(kComputeUs, Arrives(true, 30), {.compute = 2, .communication = 1.5},
                      /*delay_us=*/10);
  EXPECT_DOUBLE_EQ(timeline.compute_us, 145);
  EXPECT_DOUBLE_EQ(timeline.communication_us, 90);
  EXPECT_DOUBLE_EQ(timeline.both_us, 90);
}

TEST(Contention, NothingIsSharedWhenTheFirstHasGone) {
  const OverlapTimeline timeline =
      SimulateOverlap(kComputeUs, Arrives(false, 30), {.compute = 2, .communication = 2}, 40);
  EXPECT_DOUBLE_EQ(timeline.compute_us, 100);
  EXPECT_DOUBLE_EQ(timeline.communication_us, 60);
  EXPECT_DOUBLE_EQ(timeline.both_us, 0);
}

}  // namespace
}  // namespace orrery::overlap
