#include "capture/sanitizer/device/warp_access.h"

#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"
#include "capture/sanitizer/tests/launch_test.h"

namespace orrery::capture {
namespace {

constexpr std::uint64_t kBase = 0x10000;
constexpr Access kRead4{.pc = 0x100, .bytes = 4, .flags = kReadFlag};

/// Lane i at `first` + i * `stride`.
WarpState Strided(std::uint64_t first, std::uint64_t stride) {
  WarpState state;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    state.addresses[lane] = first + lane * stride;
  }
  return state;
}

// 32 lanes of 4 bytes side by side are 128 bytes: 4 sectors when aligned, 5 when not.
TEST(SeeAccessTest, LanesSideBySideFillTheirSectors) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}, .num_hints = 1});

  EmulateGlobalAccess(launch.record(), Strided(kBase, 4), kRead4);
  EXPECT_EQ(launch.Totals()[1].sectors, 4U);
  EmulateGlobalAccess(launch.record(), Strided(kBase + 16, 4), kRead4);

  const SlotCounters total = launch.Totals()[1];
  EXPECT_EQ(total.read_bytes, 256U);
  EXPECT_EQ(total.sectors, 9U);
  EXPECT_EQ(LanesOf(total), 64U);
  EXPECT_EQ(WarpsOf(total), 2U);
}

TEST(SeeAccessTest, BytesGoToTheKindOfTheAccess) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}});
  for (const std::uint32_t flags : {1U, 2U, 2U, 3U, 3U, 3U, 7U}) {
    EmulateGlobalAccess(launch.record(), Strided(kBase, 4), {.pc = 0, .bytes = 4, .flags = flags});
  }

  const SlotCounters total = launch.Totals()[1];
  EXPECT_EQ(total.read_bytes, 128U);
  EXPECT_EQ(total.write_bytes, 256U);
  EXPECT_EQ(total.atomic_bytes, 512U);
}

TEST(SeeAccessTest, APrefetchIsNoAccess) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}});

  EmulateGlobalAccess(launch.record(), Strided(kBase, 4), {.pc = 0, .bytes = 4, .flags = 9});
  EmulateGlobalAccess(launch.record(), Strided(kBase, 4), {.pc = 0, .bytes = 4, .flags = 8});

  EXPECT_EQ(WarpsOf(launch.Totals()[1]), 0U);
}

// PASTA defect 4: an unknown address ended the program.
TEST(SeeAccessTest, UnknownAddressesAreCountedAndAFewAreKept) {
  TestLaunch launch({.ranges = {{kBase, kBase + 64}}});
  for (std::uint64_t i = 1; i <= 6; ++i) {
    EmulateGlobalAccess(launch.record(), Strided(kBase + i * 4096, 0), kRead4);
  }

  EXPECT_EQ(launch.Totals()[0].read_bytes, 6U * 128);
  EXPECT_EQ(WarpsOf(launch.Totals()[1]), 0U);
  EXPECT_THAT(launch.record().unknown_samples,
              testing::ElementsAre(kBase + 4096, kBase + 8192, kBase + 12'288, kBase + 16'384));
}

// Lanes 0-7 in the first object, 8-15 in the gap, 16-23 in the second, 24-31 above: what is unknown
// is one share, though it lies in two gaps.
TEST(SeeAccessTest, AWarpOverSeveralObjectsIsSharedOut) {
  TestLaunch launch({.ranges = {{kBase, kBase + 64}, {kBase + 128, kBase + 192}}});

  EmulateGlobalAccess(launch.record(), Strided(kBase, 8), {.pc = 0, .bytes = 8, .flags = 2});

  for (const std::size_t slot : {1U, 2U}) {
    EXPECT_EQ(launch.Totals()[slot].write_bytes, 64U);
    EXPECT_EQ(launch.Totals()[slot].sectors, 2U);
    EXPECT_EQ(WarpsOf(launch.Totals()[slot]), 1U);
  }
  EXPECT_EQ(LanesOf(launch.Totals()[0]), 16U);
  EXPECT_EQ(WarpsOf(launch.Totals()[0]), 1U);
}

// PASTA defect 16: kernels that ran at the same time shared one tracker.
TEST(SeeAccessTest, LaunchesThatOverlapKeepTheirCountsApart) {
  TestLaunch one({.ranges = {{kBase, kBase + 4096}}});
  TestLaunch other({.ranges = {{kBase, kBase + 4096}}});
  for (int i = 0; i < 3; ++i) {
    EmulateGlobalAccess(one.record(), Strided(kBase, 4), kRead4);
    EmulateGlobalAccess(other.record(), Strided(kBase, 16), {.pc = 0, .bytes = 16, .flags = 2});
  }

  EXPECT_EQ(one.Totals()[1].read_bytes, 3U * 128);
  EXPECT_EQ(one.Totals()[1].write_bytes, 0U);
  EXPECT_EQ(other.Totals()[1].read_bytes, 0U);
  EXPECT_EQ(other.Totals()[1].write_bytes, 3U * 512);
}

TEST(SeeAccessTest, ShardsAreByMultiprocessor) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}, .num_shards = 4});
  WarpState state = Strided(kBase, 4);
  state.multiprocessor = 7;

  EmulateGlobalAccess(launch.record(), state, kRead4);

  EXPECT_EQ(launch.record().counters[3 * 2 + 1].read_bytes, 128U);
}

// PASTA defect 35: of a grid of 4 × 3 × 2 every third block from 1 on is taken; eight of them.
TEST(SeeAccessTest, BlocksAreChosenByAllThreeIndices) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}});
  launch.record().first_block = 1;
  launch.record().block_period = 3;
  WarpState state = Strided(kBase, 4);
  state.grid = {4, 3, 2};
  std::vector<std::uint64_t> taken;
  for (std::uint32_t block = 0; block < 24; ++block) {
    state.block = {block % 4, block / 4 % 3, block / 12};
    const std::uint64_t before = WarpsOf(launch.Totals()[1]);
    EmulateGlobalAccess(launch.record(), state, kRead4);
    if (WarpsOf(launch.Totals()[1]) != before) {
      taken.push_back(block);
    }
  }

  EXPECT_THAT(taken, testing::ElementsAre(1, 4, 7, 10, 13, 16, 19, 22));
}

TEST(SeeAccessTest, LanesThatOnlyFillWithZerosAreNotCounted) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}});
  WarpState state = Strided(kBase, 16);
  state.addresses[0] = 0;
  state.addresses[31] = 0;

  EmulateMemcpyAsync(launch.record(), state, 0, 16);
  state.addresses.fill(0);
  EmulateMemcpyAsync(launch.record(), state, 0, 16);

  EXPECT_EQ(launch.Totals()[1].read_bytes, 30U * 16);
  EXPECT_EQ(WarpsOf(launch.Totals()[1]), 1U);
  EXPECT_EQ(WarpsOf(launch.Totals()[0]), 0U);
}

// 300 blocks of 16 bytes are 4800 bytes, 150 sectors, and reach into a second page; the object ends
// before a third.
TEST(SeeBulkTest, ABulkCopyIsOneLaneWithAllItsBytes) {
  TestLaunch launch({.ranges = {{kBase, kBase + 8192}}, .modes = kCountMode | kPageMode});

  EmulateBulkCopy(launch.record(), WarpState{},
                  {.pc = 0, .address = kBase, .blocks = 300, .flags = kReadFlag});

  const SlotCounters total = launch.Totals()[1];
  EXPECT_EQ(total.read_bytes, 4800U);
  EXPECT_EQ(total.sectors, 150U);
  EXPECT_EQ(LanesOf(total), 1U);
  EXPECT_EQ(WarpsOf(total), 1U);
  EXPECT_EQ(launch.page_bits()[0], 0b11U);
}

TEST(SeeBulkTest, WhatReachesBeyondTheObjectMarksNoPage) {
  TestLaunch launch({.ranges = {{kBase, kBase + 32}, {kBase + 4096, kBase + 8192}},
                     .modes = kCountMode | kPageMode});

  EmulateBulkCopy(launch.record(), WarpState{},
                  {.pc = 0, .address = kBase, .blocks = 300, .flags = 3});

  EXPECT_EQ(launch.Totals()[1].atomic_bytes, 4800U);
  EXPECT_EQ(launch.page_bits()[0], 0b1U);
}

}  // namespace
}  // namespace orrery::capture
