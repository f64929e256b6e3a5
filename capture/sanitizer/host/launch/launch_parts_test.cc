#include <array>
#include <cstring>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "capture/recorder/tests/recording_test.h"
#include "capture/sanitizer/host/arguments.h"
#include "capture/sanitizer/host/launch/launch_pool.h"
#include "capture/sanitizer/host/options.h"
#include "capture/sanitizer/host/overheads.h"
#include "capture/sanitizer/host/results.h"
#include "orrery/stream/codes.h"

// The small parts that a launch goes through, each alone.

namespace orrery::capture::sanitizer {
namespace {

namespace codes = stream::codes;
using ::testing::ElementsAre;
using ::testing::SizeIs;

TEST(ArenaTest, PlacesFollowEachOtherAndGoRound) {
  Arena arena(4 * Arena::kAlignment);
  EXPECT_EQ(arena.Take(1), 0U);
  EXPECT_EQ(arena.Take(300), Arena::kAlignment);
  EXPECT_EQ(arena.Take(600), std::nullopt);
  arena.GiveBack(0, 1);
  EXPECT_EQ(arena.Take(200), 3 * Arena::kAlignment);
  EXPECT_EQ(arena.Take(200), 0U);
  EXPECT_EQ(arena.Take(1), std::nullopt);
}

// Places never overlap, and when all are given back the whole is one gap again.
RC_GTEST_PROP(ArenaProperty, PlacesAreDisjointAndComeBack, ()) {
  constexpr std::uint64_t kBytes = 64 * Arena::kAlignment;
  Arena arena(kBytes);
  std::map<std::uint64_t, std::uint64_t> taken;
  const int num_steps = *rc::gen::inRange(1, 60);
  for (int step = 0; step < num_steps; ++step) {
    const auto bytes = *rc::gen::inRange<std::uint64_t>(1, 3000);
    if (!taken.empty() && *rc::gen::arbitrary<bool>()) {
      const auto place = *rc::gen::inRange<std::size_t>(0, taken.size());
      const auto given = std::next(taken.begin(), static_cast<std::ptrdiff_t>(place));
      arena.GiveBack(given->first, given->second);
      taken.erase(given);
    } else if (const auto offset = arena.Take(bytes)) {
      const auto after = taken.lower_bound(*offset);
      RC_ASSERT(*offset + bytes <= (after == taken.end() ? kBytes : after->first));
      if (after != taken.begin()) {
        RC_ASSERT(std::prev(after)->first + std::prev(after)->second <= *offset);
      }
      taken[*offset] = bytes;
    }
  }
  for (const auto& [offset, bytes] : taken) {
    arena.GiveBack(offset, bytes);
  }
  RC_ASSERT(arena.free_bytes() == kBytes);
  RC_ASSERT(arena.Take(kBytes).has_value());
}

const char* Given(const char* name) {
  const std::string_view wanted = name;
  return wanted == "ORRERY_CAPTURE_ANALYSIS"     ? "cpu"
         : wanted == "ORRERY_CAPTURE_PAGE_BYTES" ? "5000"
         : wanted == "ORRERY_CAPTURE_SHARDS"     ? "12"
         : wanted == "ORRERY_CAPTURE_ARENA_MB"   ? "0"
                                                 : nullptr;
}

TEST(OptionsTest, WhatMakesNoSenseIsRounded) {
  const Options options = OptionsFrom(Given);
  EXPECT_EQ(options.analysis, Analysis::kHost);
  EXPECT_EQ(options.page_bytes, 8192U);
  EXPECT_EQ(options.page_shift(), 13U);
  EXPECT_EQ(options.num_shards, 8U);
  EXPECT_EQ(options.arena_bytes, 1U << 20);
  EXPECT_EQ(options.block_period, 1U);
}

std::shared_ptr<const ObjectSnapshot> TwoObjects() {
  ObjectTable table(12);
  table.Add(0, 5, 0x1000, 0x2000);
  table.Add(0, 6, 0x8000, 0x1000);
  return table.Snapshot();
}

std::vector<std::byte> BlockOf(const std::vector<std::uint64_t>& words) {
  std::vector<std::byte> block(words.size() * sizeof(std::uint64_t));
  std::memcpy(block.data(), words.data(), block.size());
  return block;
}

TEST(ArgumentsTest, WordsInsideKnownMemoryAreArguments) {
  const auto objects = TwoObjects();
  const auto found =
      FindArguments(BlockOf({1, 0x8010, 0x3000, 0x2fff, 0x1000}), *objects, TensorMaps());
  ASSERT_THAT(found, SizeIs(2));
  EXPECT_EQ(found[0].offset, 8U);
  EXPECT_EQ(found[0].address, 0x8010U);
  EXPECT_EQ(found[0].range, 1U);
  EXPECT_EQ(found[1].offset, 24U);  // 0x3000 is behind the end, and 0x1000 is the same object
  EXPECT_EQ(found[1].range, 0U);
}

TEST(ArgumentsTest, AKnownTensorMapSaysMoreThanItsWords) {
  const auto objects = TwoObjects();
  std::vector<std::uint64_t> words(8 + 16, 0x77);
  words[8] = 0x1000;  // a map begins with its address
  const auto block = BlockOf(words);
  TensorMaps maps;
  TensorMapEvent event;
  event.map = std::span(block).subspan(64, kTensorMapBytes);
  event.address = 0x1000;
  EXPECT_TRUE(maps.Add(event).is_new);
  EXPECT_FALSE(maps.Add(event).is_new);

  const auto found = FindArguments(block, *objects, maps);
  ASSERT_THAT(found, SizeIs(1));
  EXPECT_EQ(found[0].map, 1U);
  EXPECT_EQ(found[0].offset, 64U);

  PendingLaunch launch;
  launch.objects = objects;
  launch.arguments = found;
  launch.has_arguments = true;
  EXPECT_EQ(CoverageOf(launch, {}), codes::kByDescriptor);
  launch.may_use_tensor_maps = false;
  EXPECT_EQ(CoverageOf(launch, {}), codes::kExact);
}

TEST(PagesTest, TheSmallerFormIsTaken) {
  stream::PageTouch record;
  const std::vector<PageRun> long_run{{1000, 5000}};
  const EncodedPages as_runs(long_run);
  as_runs.FillIn(record);
  EXPECT_EQ(record.form, codes::kRuns);
  EXPECT_EQ(record.first_page, 1000U);
  EXPECT_THAT(record.numbers, ElementsAre(0, 5000));

  record = {};
  const std::vector<PageRun> holes{{8, 1}, {10, 1}, {12, 2}};
  const EncodedPages as_bits(holes);
  as_bits.FillIn(record);
  EXPECT_EQ(record.form, codes::kBitmap);
  EXPECT_EQ(record.bitmap, "\x35");  // pages 8, 10, 12 and 13: bits 0, 2, 4 and 5
}

TEST(PagesTest, APageThatTwoRangesShareIsOne) {
  ObjectTable table(12);
  table.Add(0, 1, 0, 3 * 4096);
  table.Add(2, 2, 4096 + 100, 100);  // splits page 1 into three ranges
  const auto objects = table.Snapshot();
  ASSERT_EQ(objects->num_ranges(), 3U);
  // Ranges 0 and 2 are object 1's: pages 0, 1 and 1, 2.
  const std::vector<std::uint32_t> bits{0xffffffff};
  std::vector<PageRun> runs;
  AppendTouchedPages(*objects, 0, bits, runs);
  AppendTouchedPages(*objects, 2, bits, runs);
  EXPECT_THAT(runs, ElementsAre(PageRun{0, 3}));
}

/// A clock that moves on by one at each look.
class CountingClock : public Clock {
 public:
  [[nodiscard]] std::int64_t now_ns() const noexcept override { return ++now_; }

 private:
  mutable std::int64_t now_ = 0;
};

// The parts and the total are measured apart and agree up to the looks at the clock.
TEST(OverheadsTest, AnInnerPhaseIsTakenOutOfTheOuterOne) {
  const CountingClock clock;
  Overheads overheads(clock);
  {
    const Overheads::Scope outer(overheads, codes::kCollection);   // looks 1, 2
    const Overheads::Scope inner(overheads, codes::kTransfer, 7);  // 3; ends at 4, then outer 5, 6
  }
  EXPECT_EQ(overheads.total_ns(codes::kCollection), 2U);  // 2 to 3, 4 to 5
  EXPECT_EQ(overheads.total_ns(codes::kTransfer), 1U);
  EXPECT_EQ(overheads.bytes(codes::kTransfer), 7U);
  EXPECT_EQ(overheads.total_ns(codes::kTotal), 5U);  // 1 to 6
}

TEST(ResultsTest, ShardsAndRangesOfAnObjectAreAddedUp) {
  ObjectTable table(12);
  table.Add(0, 1, 0, 1000);
  table.Add(2, 2, 100, 100);
  const auto objects = table.Snapshot();
  // Slots: unknown, object 1, object 2, object 1; two shards.
  const std::uint64_t one_warp = (std::uint64_t{1} << kLaneBits) + 32;
  std::vector<SlotCounters> counters(8);
  // Bytes read, written and atomic; sectors; lanes and warps.
  counters[1] = {1, 0, 0, 1, one_warp};
  counters[3] = {10, 0, 0, 1, one_warp};
  counters[4 + 3] = {0, 100, 0, 1, one_warp};
  const auto counts = CountsOf(*objects, counters);
  ASSERT_THAT(counts, SizeIs(1));
  EXPECT_EQ(counts[0].object, 1U);
  EXPECT_EQ(counts[0].read_bytes, 11U);
  EXPECT_EQ(counts[0].write_bytes, 100U);
  EXPECT_EQ(counts[0].lanes, 96U);
  EXPECT_EQ(counts[0].warps, 3U);
}

}  // namespace
}  // namespace orrery::capture::sanitizer
