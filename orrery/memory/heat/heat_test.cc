#include "orrery/memory/heat/heat.h"

#include <array>
#include <cstdint>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/memory/pieces_test.h"
#include "orrery/memory/random_recording_test.h"
#include "orrery/memory/recording_test.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

constexpr std::int64_t kMebibyte = 1 << 20;

std::int64_t SumOf(const AccessHeat& heat) {
  std::int64_t sum = 0;
  for (const HeatCell& cell : heat.cells) {
    sum += cell.accesses;
  }
  return sum;
}

AccessHeat Heat(const trace::Trace& trace, const HeatOptions& options) {
  auto heat = HeatOf(trace, options);
  EXPECT_TRUE(heat) << heat.error().message();
  return heat ? *heat : AccessHeat();
}

void AddAccess(TestRecording& recording, RowId launch, std::uint64_t address,
               std::int64_t stride = 4) {
  recording.trace.accesses.Append({.activity = launch,
                                   .lane_mask = 0xFFFFFFFF,
                                   .access_bytes = 4,
                                   .address = address,
                                   .stride = stride});
}

// PASTA defect 6: no part of a block is dropped. Warps at every MiB of an object of 8 MiB, odd and
// even: 4 blocks of 2 MiB with two warps of 32 lanes each.
TEST(Heat, AllCellsTogetherAreAllAccesses) {
  TestRecording recording;
  const RowId object = recording.Born(0, 8 * kMebibyte);
  const RowId launch = recording.Launched("k");
  for (std::uint64_t mebibyte = 0; mebibyte < 8; ++mebibyte) {
    AddAccess(recording, launch, mebibyte << 20);
  }
  const AccessHeat heat = Heat(recording.trace, {});
  EXPECT_EQ(heat.total_accesses, 256);
  ASSERT_EQ(heat.blocks.size(), 4U);
  for (const HeatBlock& block : heat.blocks) {
    EXPECT_EQ(block.accesses, 64);
    EXPECT_EQ(block.object, object);
  }
  EXPECT_EQ(SumOf(heat), 256);
}

// PASTA defect 7: the last window, which is shorter, stays. 3 warps are 96 accesses: windows of 40,
// 40 and 16.
TEST(Heat, TheLastPartialWindowStays) {
  TestRecording recording;
  recording.Born(0, kMebibyte);
  const RowId launch = recording.Launched("k");
  for (int i = 0; i < 3; ++i) {
    AddAccess(recording, launch, 0);
  }
  const AccessHeat heat = Heat(recording.trace, {.window = 40});
  ASSERT_EQ(heat.num_windows, 3U);
  EXPECT_EQ(heat.cells, (std::vector<HeatCell>{{0, 0, 40}, {0, 1, 40}, {0, 2, 16}}));
}

TEST(Heat, WindowsMayCountLaunchesOrTime) {
  TestRecording recording;
  const RowId object = recording.Born(0, 64);
  for (int i = 0; i < 3; ++i) {  // at 200, 300 and 400 ns
    recording.Touched(recording.Launched("k"), object, 8, 0);
  }
  const AccessHeat launches = Heat(recording.trace, {.unit = WindowUnit::kLaunches, .window = 2});
  EXPECT_EQ(launches.cells, (std::vector<HeatCell>{{0, 0, 4}, {0, 1, 2}}));
  const AccessHeat times = Heat(recording.trace, {.unit = WindowUnit::kNanoseconds, .window = 150});
  EXPECT_EQ(times.cells, (std::vector<HeatCell>{{0, 0, 4}, {0, 1, 2}}));
}

// 10 accesses over 3 blocks of 64 bytes, of which the object fills 64, 64 and 32: due after each
// are 10 * 64 / 160 = 4, 10 * 128 / 160 = 8 and 10.
TEST(Heat, TouchesAreSpreadOverTheObjectAndAddUp) {
  TestRecording recording;
  const RowId object = recording.Born(0, 160);
  recording.Touched(recording.Launched("k"), object, 40, 0);
  const AccessHeat heat = Heat(recording.trace, {.block_bytes = 64});
  EXPECT_EQ(heat.cells, (std::vector<HeatCell>{{0, 0, 4}, {1, 0, 4}, {2, 0, 2}}));
  EXPECT_EQ(heat.source_accesses, (std::array<std::int64_t, 3>{0, 0, 10}));
  EXPECT_EQ(heat.objects, (std::vector<ObjectHeat>{{object, 10, 1}}));
}

TEST(Heat, CountsOfPagesAreBetterThanCountsOfObjects) {
  TestRecording recording;
  const RowId object = recording.Born(0, 16384);
  const RowId launch = recording.Launched("k");
  recording.Touched(launch, object, 40, 0);
  recording.trace.page_runs.Append({.activity = launch,
                                    .object = object,
                                    .address = 4096,
                                    .num_pages = 2,
                                    .page_bytes = 4096,
                                    .accesses = 5});
  const AccessHeat heat = Heat(recording.trace, {.block_bytes = 4096});
  EXPECT_EQ(heat.cells, (std::vector<HeatCell>{{0, 0, 5}, {1, 0, 5}}));
  EXPECT_EQ(heat.blocks[0].address, 4096U);
  EXPECT_EQ(heat.source_accesses, (std::array<std::int64_t, 3>{0, 10, 0}));
}

// PASTA defect 4: unknown addresses are counted and reported; nothing stops.
TEST(Heat, AccessesThatNoObjectOwnsAreReported) {
  TestRecording recording;
  AddAccess(recording, recording.Launched("k"), 1 << 30, 0);
  const AccessHeat heat = Heat(recording.trace, {});
  EXPECT_EQ(heat.objects, (std::vector<ObjectHeat>{{kNoRow, 32, 1}}));
  EXPECT_EQ(SumOf(heat), 32);
}

TEST(Heat, KernelsWithoutCountsAreCounted) {
  TestRecording recording;
  recording.Launched("k", trace::Coverage::kUnseen);
  EXPECT_EQ(Heat(recording.trace, {}).num_without_counts, 1);
}

// PASTA defects 9 and 11: an empty stream gives zeros.
TEST(Heat, AnEmptyTraceGivesZeros) {
  EXPECT_EQ(Heat(trace::Trace(), {}), AccessHeat());
}

TEST(Heat, TooManyWindowsAreRefused) {
  TestRecording recording;
  const RowId object = recording.Born(0, 64);
  recording.Touched(recording.Launched("k"), object, 1LL << 40, 0);
  const auto heat = HeatOf(recording.trace, {.window = 1});
  ASSERT_FALSE(heat);
  EXPECT_EQ(heat.error().message(),
            "windows of 1 accesses are more than 1000000 in all; choose larger ones");
}

RC_GTEST_PROP(Heat, CellsSumToTheAccesses, ()) {
  TestRecording recording;
  std::int64_t expected = 0;
  for (int step = *rc::gen::inRange(0, 12); step > 0; --step) {
    const RowId object =
        recording.Born(*rc::gen::inRange<std::uint64_t>(0, 5000), *rc::gen::inRange(1, 3000));
    const RowId launch = recording.Launched("k");
    if (*rc::gen::arbitrary<bool>()) {
      const int lanes = *rc::gen::inRange(0, 500);
      recording.Touched(launch, object, std::int64_t{4} * lanes, 0);
      expected += lanes;
    } else {
      AddAccess(recording, launch, *rc::gen::inRange<std::uint64_t>(0, 5000),
                *rc::gen::inRange(-8, 200));
      expected += 32;
    }
  }
  const HeatOptions options{.block_bytes = *rc::gen::inRange(1, 700),
                            .unit = *rc::gen::element(WindowUnit::kAccesses, WindowUnit::kLaunches,
                                                      WindowUnit::kNanoseconds),
                            .window = *rc::gen::inRange(1, 300)};
  const AccessHeat heat = Heat(recording.trace, options);
  RC_ASSERT(SumOf(heat) == expected);
  RC_ASSERT(heat.total_accesses == expected);
}

// An object that is not alive owns nothing; where its accesses went is not known any more.
TEST(Heat, TheDeadOwnNothing) {
  TestRecording recording;
  const RowId object = recording.Born(kMebibyte, 64);
  recording.Died(object);
  recording.Touched(recording.Launched("k"), object, 40, 0);
  EXPECT_EQ(Heat(recording.trace, {}).objects, (std::vector<ObjectHeat>{{kNoObject, 10, 1}}));
}

// Runs of pages in order are taken a block at a time: 3 pages of 512 bytes from 1,024 are two in
// the block of 1,024 bytes that begins there, and one in the next. The second object begins on the
// last of these pages.
TEST(Heat, PagesOfABlockCountTogether) {
  TestRecording recording;
  const RowId first = recording.Born(1024, 1280);
  const RowId second = recording.Born(2304, 512);
  const RowId launch = recording.Launched("k");
  for (const auto& [object, address, num_pages] :
       {std::tuple{second, 2048U, 2}, std::tuple{first, 1024U, 3}}) {
    recording.trace.page_runs.Append({.activity = launch,
                                      .object = object,
                                      .address = address,
                                      .num_pages = num_pages,
                                      .page_bytes = 512,
                                      .accesses = 5});
  }
  const AccessHeat heat = Heat(recording.trace, {.block_bytes = 1024});
  EXPECT_EQ(heat.cells, (std::vector<HeatCell>{{0, 0, 10}, {1, 0, 15}}));
  EXPECT_EQ(heat.objects, (std::vector<ObjectHeat>{{first, 15, 1}, {second, 10, 1}}));
  EXPECT_EQ(heat.blocks[1], (HeatBlock{2048, 15, second, 2}));
}

// 10,001 objects of one access each: the last is not listed, but counted.
TEST(Heat, ObjectsThatAreAccessedMostAreListed) {
  TestRecording recording;
  for (std::uint64_t i = 0; i <= AccessHeat::kMostObjects; ++i) {
    const RowId object = recording.Born(64 * i, 64);
    recording.Touched(recording.Launched("k"), object, 4, 0);
  }
  const AccessHeat heat = Heat(recording.trace, {});
  EXPECT_EQ(heat.num_objects, 10'001);
  ASSERT_EQ(heat.objects.size(), 10'000U);
  EXPECT_EQ(heat.objects.back().object, 9'999U);
}

RC_GTEST_PROP(Heat, AnyCuttingGivesTheHeatOfTheWhole, ()) {
  const RandomRecording recording(*rc::gen::inRange(0, 60));
  const auto cuts = *rc::gen::container<std::vector<std::int64_t>>(
      rc::gen::inRange<std::int64_t>(0, recording.order() + 2));
  const HeatOptions options{.block_bytes = *rc::gen::element(64, 100, 512, 4096),
                            .unit = *rc::gen::element(WindowUnit::kAccesses, WindowUnit::kLaunches,
                                                      WindowUnit::kNanoseconds),
                            .window = *rc::gen::inRange(1, 300)};
  HeatCounter counter(options);
  ForEachPiece(recording.trace, cuts, [&](const trace::Trace& piece) {
    const Status added = counter.Add(piece);
    RC_ASSERT(added.has_value());
  });
  RC_ASSERT(counter.Finish() == Heat(recording.trace, options));
}

}  // namespace
}  // namespace orrery::memory
