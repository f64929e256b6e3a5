#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/hardware/gpu.h"
#include "orrery/overlap/analytic_model.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {
namespace {

Machine H200() {
  return MachineOf(*hardware::FindGpu("H200"));
}

// 128 threads of 168 registers: 4 warps of 5,376 are 21,504 registers, three blocks of 65,536; of
// 100 KiB and 1 KiB reserved two fit into 228 KiB.
constexpr LaunchShape kProduct = {
    .blocks = 1024, .threads = 128, .registers = 168, .shared_bytes = 100 * 1024};
// NCCL's ring: 17 warps of 3,072 are 52,224 registers; 13,312 are left.
constexpr LaunchShape kRing = {
    .blocks = 16, .threads = 544, .registers = 96, .shared_bytes = 82'240};

TEST(Occupancy, CountsBlocksOfAnEmptyMultiprocessor) {
  EXPECT_EQ(BlocksOfSm(H200(), kProduct), 2);
  EXPECT_EQ(BlocksOfSm(H200(), kRing), 1);
}

TEST(Occupancy, RingTakesItsMultiprocessorsFromGemms) {
  // 132 · 2 = 264 blocks alone; 16 multiprocessors have no room: 116 · 2 = 232. 1,024 blocks are 4
  // waves alone (3.9) and 5 beside it (4.4).
  const Room room = RoomWith(H200(), kProduct, kRing);
  EXPECT_EQ(room.of_shared_sm, 0);
  EXPECT_EQ(room.alone, 264);
  EXPECT_EQ(room.overlapped, 232);
  EXPECT_DOUBLE_EQ(room.ByWaves(), 1.25);
  EXPECT_NEAR(room.ByShare(), 1.137931, 1e-6);
}

TEST(Occupancy, StepsWithTheNumberOfBlocks) {
  const auto slowdown = [](std::int64_t blocks) {
    LaunchShape shape = kProduct;
    shape.blocks = blocks;
    return RoomWith(H200(), shape, kRing).ByWaves();
  };
  EXPECT_DOUBLE_EQ(slowdown(200), 1);       // fits either way
  EXPECT_DOUBLE_EQ(slowdown(264), 2);       // 1 wave becomes 2
  EXPECT_DOUBLE_EQ(slowdown(4096), 1.125);  // 16 become 18
}

TEST(Occupancy, NoRoomMeansWaiting) {
  LaunchShape wide = kRing;
  wide.blocks = 132;
  const Room room = RoomWith(H200(), kProduct, wide);
  EXPECT_EQ(room.overlapped, 0);
  EXPECT_DOUBLE_EQ(room.ByWaves(), 1);
}

TEST(Occupancy, ClustersNeedRoomWithinAGroup) {
  // The 66 pairs of multiprocessors make 8 groups of 18, 18 and six times 16. 8 blocks of the other
  // kernel take one of each group: 17 → 16 and 15 → 14, as clusters of two go in pairs.
  LaunchShape pairs = kProduct;
  pairs.cluster = 2;
  pairs.shared_bytes = 200 * 1024;  // one block a multiprocessor
  LaunchShape eight = kRing;
  eight.blocks = 8;
  const Room room = RoomWith(H200(), pairs, eight);
  EXPECT_EQ(room.alone, 132);
  EXPECT_EQ(room.overlapped, 2 * 16 + 6 * 14);
}

TEST(Occupancy, BlocksPileUpWhereTheOtherKernelIsNot) {
  // 132 blocks of 512 threads, one a multiprocessor alone. Two multiprocessors hold 544 threads
  // already, so two blocks go where 512 are: the fullest holds two.
  const LaunchShape even = {.blocks = 132, .threads = 512, .registers = 24, .shared_bytes = 0};
  LaunchShape two = kRing;
  two.blocks = 2;
  EXPECT_DOUBLE_EQ(PileWith(H200(), even, two), 2);
  LaunchShape fewer = even;
  fewer.blocks = 130;
  EXPECT_DOUBLE_EQ(PileWith(H200(), fewer, two), 1);
}

TEST(Occupancy, SharedMemoryStaysAsTheFirstKernelCutIt) {
  // A ring's 82,240 + 1,024 bytes are cut as 100 KiB: 19,136 are left, less than 20,000 + 1,024,
  // though registers (64 threads of 32: 2,048 of 13,312) would do.
  const LaunchShape small = {.blocks = 64, .threads = 64, .registers = 32, .shared_bytes = 20'000};
  EXPECT_EQ(RoomWith(H200(), small, kRing).of_shared_sm, 0);
  LaunchShape smaller = small;
  smaller.shared_bytes = 8'000;
  EXPECT_EQ(RoomWith(H200(), smaller, kRing).of_shared_sm, 2);
}

}  // namespace
}  // namespace orrery::overlap
