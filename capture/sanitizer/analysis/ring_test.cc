#include <array>
#include <cstdint>
#include <thread>
#include <vector>

#include <gtest/gtest.h>

#include "capture/sanitizer/analysis/attribution.h"
#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"
#include "capture/sanitizer/tests/launch_test.h"

// Tests of the ring that patches write and the host reads.

namespace orrery::capture {
namespace {

constexpr std::uint64_t kBase = 0x7f0000000000U;

WarpState Strided(std::uint64_t first, std::int64_t stride) {
  WarpState state;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    state.addresses[lane] = first + static_cast<std::uint64_t>(lane * stride);
  }
  return state;
}

WarpState Scattered() {
  WarpState state;
  for (std::uint32_t lane = 0; lane < kNumLanes; ++lane) {
    state.addresses[lane] = kBase + 64 * std::uint64_t{lane} * lane;
  }
  return state;
}

TestLaunch::Options StreamOnly(std::uint64_t num_cells = 64) {
  return {.ranges = {{kBase, kBase + 4096}}, .modes = kStreamMode, .num_cells = num_cells};
}

StreamedAccess ReadOne(RingReader& reader) {
  StreamedAccess access;
  EXPECT_TRUE(reader.Next(access));
  return access;
}

TEST(RingTest, LanesThatFollowARuleTakeOneCell) {
  TestLaunch launch(StreamOnly());
  launch.record().launch = 0x1'0000'0007U;
  RingReader reader(launch.ring());

  EmulateGlobalAccess(launch.record(), Strided(kBase, -12), {.pc = 0x120, .bytes = 4, .flags = 2});

  const StreamedAccess access = ReadOne(reader);
  EXPECT_EQ(launch.ring().head, 1U);
  EXPECT_EQ(access.address, kBase);
  EXPECT_EQ(access.stride, -12);
  EXPECT_EQ(access.active, 0xffffffffU);
  EXPECT_EQ(access.bytes, 4U);
  EXPECT_EQ(access.flags, 2U);
  EXPECT_EQ(access.pc, 0x12U);
  EXPECT_EQ(access.launch, 7U);
}

// Lanes 3 and 5 are active, 8 bytes apart: the rule is 4 bytes a lane, and lane 0 would be 12
// below.
TEST(RingTest, TheRuleIsFoundWithoutNeighbours) {
  TestLaunch launch(StreamOnly());
  RingReader reader(launch.ring());
  WarpState state;
  state.active = 0b101000;
  state.addresses[3] = kBase;
  state.addresses[5] = kBase + 8;

  EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 4, .flags = 1});

  const StreamedAccess access = ReadOne(reader);
  EXPECT_EQ(access.stride, 4);
  EXPECT_EQ(access.address, kBase - 12);
}

TEST(RingTest, LanesTooFarApartForARuleAreWrittenOut) {
  TestLaunch launch(StreamOnly());
  RingReader reader(launch.ring());
  WarpState state = Strided(kBase, std::int64_t{1} << 33U);

  EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 4, .flags = 1});

  const StreamedAccess access = ReadOne(reader);
  EXPECT_EQ(access.stride, kGeneralStride);
  EXPECT_EQ(access.addresses, state.addresses);
}

TEST(RingTest, ABulkCopyTakesOneCell) {
  TestLaunch launch(StreamOnly());
  RingReader reader(launch.ring());

  EmulateBulkCopy(launch.record(), WarpState{},
                  {.pc = 0x40, .address = kBase, .blocks = 65'535, .flags = kWriteFlag});

  const StreamedAccess access = ReadOne(reader);
  EXPECT_EQ(access.flags, kWriteFlag | kBulkFlag);
  EXPECT_EQ(access.stride, 65'535);
  EXPECT_EQ(access.bytes, 16U);
}

/// Warps of one block, in order: each with the indices of its lowest active thread.
std::vector<WarpState> WarpsOfBlock(Indices block, Indices grid, Indices block_size) {
  std::vector<WarpState> warps;
  std::uint32_t thread = 0;
  for (std::uint32_t z = 0; z < block_size.z; ++z) {
    for (std::uint32_t y = 0; y < block_size.y; ++y) {
      for (std::uint32_t x = 0; x < block_size.x; ++x, ++thread) {
        if (thread % kNumLanes == 0) {
          WarpState state = Strided(kBase, 4);
          state.active = 0;
          state.block = block;
          state.grid = grid;
          state.thread = {x, y, z};
          state.block_size = block_size;
          warps.push_back(state);
        }
        warps.back().active |= 1U << thread % kNumLanes;
      }
    }
  }
  return warps;
}

// PASTA defect 35: y and z of blocks were dropped, and warps were the hardware's slots. Blocks of 5
// × 7 × 3 = 105 threads are three full warps and one of nine; a grid of 3 × 2 × 2 has twelve
// blocks. Blocks are run in another order than that of their numbers, on one multiprocessor.
TEST(RingTest, BlocksAndWarpsAreNumberedByAllTheirIndices) {
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}, .modes = kStreamMode | kPlaceMode});
  RingReader reader(launch.ring());
  for (std::uint32_t x = 3; x-- > 0;) {
    for (std::uint32_t y = 0; y < 2; ++y) {
      for (std::uint32_t z = 0; z < 2; ++z) {
        const auto warps = WarpsOfBlock({x, y, z}, {3, 2, 2}, {5, 7, 3});
        ASSERT_EQ(warps.size(), 4U);
        EXPECT_EQ(warps[3].active, 0x1ffU);
        for (std::uint64_t warp = 0; warp < warps.size(); ++warp) {
          EmulateGlobalAccess(launch.record(), warps[warp], {.pc = 0, .bytes = 4, .flags = 1});
          const StreamedAccess access = ReadOne(reader);
          EXPECT_EQ(access.block, x + 3 * y + 6 * z);
          EXPECT_EQ(access.warp, warp);
          EXPECT_EQ(access.active, warps[warp].active);
          EXPECT_EQ(access.flags, 1U);
        }
      }
    }
  }
  EXPECT_EQ(reader.position(), launch.ring().head);
}

// The largest grid there is has (2^31 - 1) × 65535 × 65535 blocks: nearly 2^63.
TEST(RingTest, TheLastBlockOfTheLargestGridKeepsItsNumber) {
  constexpr std::uint64_t kX = 2'147'483'647;
  constexpr std::uint64_t kYz = 65'535;
  TestLaunch launch({.ranges = {{kBase, kBase + 4096}}, .modes = kStreamMode | kPlaceMode});
  RingReader reader(launch.ring());
  WarpState state = Strided(kBase, 0);
  state.grid = {kX, kYz, kYz};
  state.block = {kX - 1, kYz - 1, kYz - 1};

  EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 4, .flags = 1});

  EXPECT_EQ(ReadOne(reader).block, kX * kYz * kYz - 1);
}

// Lanes that follow no rule take nine cells, a copy one: the place follows in either.
TEST(RingTest, ThePlaceComesLastInRecordsOfEveryForm) {
  TestLaunch launch(
      {.ranges = {{kBase, kBase + 4096}}, .modes = kStreamMode | kPlaceMode, .num_cells = 32});
  RingReader reader(launch.ring());
  WarpState state = Scattered();
  state.grid = {64, 1, 1};
  state.block_size = {1024, 1, 1};
  for (std::uint32_t turn = 0; turn < 20; ++turn) {  // the ring goes round several times
    state.block.x = turn;
    state.thread.x = 32 * turn;
    EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 4, .flags = 1});
    EmulateBulkCopy(launch.record(), state,
                    {.pc = 0x40, .address = kBase, .blocks = 3, .flags = kWriteFlag});

    const StreamedAccess scattered = ReadOne(reader);
    EXPECT_EQ(scattered.addresses, state.addresses);
    EXPECT_EQ(scattered.block, turn);
    EXPECT_EQ(scattered.warp, turn);
    const StreamedAccess copy = ReadOne(reader);
    EXPECT_EQ(copy.flags, kWriteFlag | kBulkFlag);
    EXPECT_EQ(copy.stride, 3);
    EXPECT_EQ(copy.block, turn);
    EXPECT_EQ(copy.warp, turn);
  }
  EXPECT_EQ(launch.ring().head, 20U * 12);
  EXPECT_EQ(launch.ring().dropped, 0U);
}

// PASTA defect 21: buffers were not cleared, and lanes counted as active where an address was
// found.
TEST(RingTest, ALaneThatIsNotActiveStaysSoInACellThatWasUsedBefore) {
  TestLaunch launch(StreamOnly(16));
  RingReader reader(launch.ring());
  WarpState state = Scattered();
  for (int turn = 0; turn < 40; ++turn) {
    EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 4, .flags = 1});
    EXPECT_EQ(ReadOne(reader).active, 0xffffffffU);
  }

  state.active = ~(1U << 7U);
  EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 4, .flags = 1});

  EXPECT_EQ(ReadOne(reader).active, ~(1U << 7U));
  EXPECT_EQ(launch.ring().dropped, 0U);
}

TEST(RingTest, AFullRingDropsAndCountsAndGoesOnWhenThereIsRoom) {
  TestLaunch launch(StreamOnly(4));
  RingReader reader(launch.ring());
  for (std::uint64_t i = 0; i < 6; ++i) {
    EmulateGlobalAccess(launch.record(), Strided(kBase + i, 0), {.pc = 0, .bytes = 1, .flags = 1});
  }
  EXPECT_EQ(launch.ring().dropped, 2U);
  EXPECT_EQ(ReadOne(reader).address, kBase);

  EmulateGlobalAccess(launch.record(), Strided(kBase + 9, 0), {.pc = 0, .bytes = 1, .flags = 1});

  EXPECT_EQ(ReadOne(reader).address, kBase + 1);
  EXPECT_EQ(ReadOne(reader).address, kBase + 2);
  EXPECT_EQ(ReadOne(reader).address, kBase + 3);
  EXPECT_EQ(ReadOne(reader).address, kBase + 9);
  StreamedAccess none;
  EXPECT_FALSE(reader.Next(none));
  EXPECT_EQ(reader.position(), launch.ring().head);
  EXPECT_EQ(launch.ring().dropped, 2U);
}

// With a margin of four, at most four of eight cells are in use.
TEST(RingTest, TheMarginStaysFree) {
  TestLaunch launch(StreamOnly(8));
  launch.ring().margin = 4;
  for (int i = 0; i < 6; ++i) {
    EmulateGlobalAccess(launch.record(), Strided(kBase, 0), {.pc = 0, .bytes = 1, .flags = 1});
  }

  EXPECT_EQ(launch.ring().head, 4U);
  EXPECT_EQ(launch.ring().dropped, 2U);
}

// The ring is far too small for what two warps write into it while it is read.
TEST(RingTest, WarpsThatWriteAtOnceLoseNothing) {
  constexpr std::uint64_t kAccesses = 2'000;
  constexpr std::uint64_t kWarps = 2;
  TestLaunch::Options options = StreamOnly(64);
  options.max_spins = UINT64_MAX;
  TestLaunch launch(options);
  launch.ring().margin = kWarps * (1 + kLaneCells);
  std::vector<std::jthread> warps;
  for (std::uint64_t warp = 0; warp < kWarps; ++warp) {
    warps.emplace_back([&launch, warp] {
      WarpState state = Scattered();
      for (std::uint64_t i = 0; i < kAccesses; ++i) {
        state.addresses[0] = kBase + warp * 1'000'000 + i;
        state.active = i % 3 == 0 ? 0xffffffffU : 1;  // written out, or by a rule
        EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 1, .flags = 1});
      }
    });
  }

  RingReader reader(launch.ring());
  std::array<std::uint64_t, kWarps> next{};
  StreamedAccess access;
  for (std::uint64_t read = 0; read < kWarps * kAccesses;) {
    if (!reader.Next(access)) {
      std::this_thread::yield();
      continue;
    }
    const std::uint64_t first =
        access.stride == kGeneralStride ? access.addresses[0] : access.address;
    const std::uint64_t warp = (first - kBase) / 1'000'000;
    EXPECT_EQ(first, kBase + warp * 1'000'000 + next[warp % kWarps]++);
    ++read;
  }

  EXPECT_EQ(launch.ring().dropped, 0U);
}

// An address equal to the turn that is next expected in its cell must not be taken for a record.
TEST(RingTest, AnAddressInACellIsNeverTakenForATurn) {
  TestLaunch launch(StreamOnly(16));
  RingReader reader(launch.ring());
  WarpState state = Scattered();
  state.addresses.fill(2);
  state.addresses[1] = 77;
  for (int i = 0; i < 2; ++i) {
    EmulateGlobalAccess(launch.record(), state, {.pc = 0, .bytes = 1, .flags = 1});
    (void)ReadOne(reader);
  }
  StreamedAccess access;

  EXPECT_FALSE(reader.Next(access));
}

}  // namespace
}  // namespace orrery::capture
