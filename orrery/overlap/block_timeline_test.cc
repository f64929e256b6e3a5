#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

TEST(BlockTimeline, BlocksWithoutRoomRunOnceMore) {
  // 132 blocks on 132 places, 124 beside the other: eight run when the first have ended.
  const BlockPlan plan{.blocks = 132, .tiles = 132, .alone = 132, .overlapped = 124};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, kAllTheTime), 2);
}

TEST(BlockTimeline, TilesOfBlocksThatAreThereAreSharedOut) {
  // Alone: 480 tiles by 132 blocks, four rounds. Beside: 116 blocks take their own tiles and the
  // 348 that are anybody's, 464 = 4 · 116; then 16 blocks that found no room do their own: five.
  const BlockPlan plan{.blocks = 132, .tiles = 480, .alone = 132, .overlapped = 116};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, kAllTheTime), 5.0 / 4);
}

TEST(BlockTimeline, BlocksBeginWhenTheOtherKernelGoes) {
  // It goes at 0.3 of the time alone: eight blocks begin then.
  const BlockPlan plan{.blocks = 132, .tiles = 132, .alone = 132, .overlapped = 124};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = -1, .until = 0.3}), 1.3);
}

TEST(BlockTimeline, BlocksThatRunAreNotDrivenOut) {
  // All blocks run when the other kernel comes.
  const BlockPlan plan{.blocks = 132, .tiles = 132, .alone = 132, .overlapped = 124};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = 0.1, .until = 5}), 1);
}

TEST(BlockTimeline, LaterWavesFindLessRoom) {
  // Three waves of 100 alone. The other comes in the first and halves the room: 200 blocks are left
  // for four waves of 50, five in all.
  const BlockPlan plan{.blocks = 300, .tiles = 300, .alone = 100, .overlapped = 50};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = 0.1, .until = 9}), 5.0 / 3);
}

TEST(BlockTimeline, BlocksShareThePaceOfTheirMultiprocessor) {
  // Those there from the begin take 1.5, those that begin at 0.5 when the other has gone take twice
  // as long as alone: 2.5.
  const BlockPlan plan{.blocks = 528,
                       .tiles = 528,
                       .alone = 792,
                       .overlapped = 216,
                       .first_pace = 1.5,
                       .later_pace = 2};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = -1, .until = 0.5}), 2.5);
}

TEST(BlockTimeline, ManyRoundsRunAtThePaceOfTheRoom) {
  // A thousand rounds at half the room from a quarter of the time on: 0.25 + 2 · 0.75.
  const BlockPlan plan{.blocks = 100'000, .tiles = 100'000, .alone = 100, .overlapped = 50};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = 0.25, .until = 9}), 1.75);
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = 2, .until = 9}), 1);
  // Gone when a quarter of the rest is done: 0.25 + 0.5 + 0.5.
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, {.from = 0.25, .until = 0.75}), 1.25);
}

TEST(BlockTimeline, NoRoomAtAllIsAWaitAndNoSlowdown) {
  const BlockPlan plan{.blocks = 132, .tiles = 132, .alone = 132, .overlapped = 0};
  EXPECT_DOUBLE_EQ(SlowdownByBlocks(plan, kAllTheTime), 1);
}

TEST(BlockTimeline, PlansFollowFromLaunches) {
  const Machine machine = MachineOf(*hardware::FindGpu("H200"));
  Pair pair;
  pair.compute.shape = {.blocks = 528, .threads = 128, .registers = 17, .shared_bytes = 32'768};
  pair.compute.tiles = 1'000;
  pair.communication.shape = {
      .blocks = 96, .threads = 544, .registers = 96, .shared_bytes = 82'240};
  const BlockPlan plan = SharedPlanOf(machine, pair);
  EXPECT_EQ(plan.blocks, 528);
  EXPECT_EQ(plan.tiles, 1'000);
  EXPECT_EQ(plan.alone, 6 * 132);  // of 33 KB, in 227 KB
  // No block fits beside communication.
  EXPECT_EQ(plan.overlapped, 6 * 36);
  EXPECT_DOUBLE_EQ(plan.later_pace, 6.0 / 4);  // alone there are four on each
}

}  // namespace
}  // namespace orrery::overlap
