#include "orrery/api/view/tiles/slice_tracks.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/sample_run_test.h"
#include "orrery/api/view/tiles/tile_at.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"

namespace orrery::api::view {
namespace {

trace::Trace NestedOperators() {
  analyze::test_run::Rank rank(0);
  // linear holds addmm; relu follows on the first line.
  rank.Operator("aten::linear", {0, 100})
      .Operator("aten::addmm", {10, 90})
      .Operator("aten::relu", {100, 120});
  rank.Kernel("gemm", {50, 80}, 7, rank.Call({20, 25}));
  return rank.Finish();
}

TEST(TracksOfTest, ThreadsComeBeforeStreamsAndNestedSlicesLieBelow) {
  const trace::Trace trace = NestedOperators();
  const std::vector<SliceTrack> tracks = TracksOf(trace);
  ASSERT_EQ(tracks.size(), 3U);
  EXPECT_EQ(tracks[0].table, SliceTable::kHostOps);
  EXPECT_EQ(tracks[1].table, SliceTable::kRuntimeCalls);
  EXPECT_EQ(tracks[2].table, SliceTable::kActivities);
  ASSERT_EQ(tracks[0].depths.size(), 2U);
  EXPECT_EQ(tracks[0].depths[0].rows().size(), 2U);
  EXPECT_EQ(tracks[0].depths[1].rows().size(), 1U);
}

TEST(SlicesInTest, WideSlicesStandAloneAndNarrowOnesAreMerged) {
  analyze::test_run::Rank rank(0);
  rank.Kernel("wide", {0, 1024});
  rank.Kernel("a", {1100, 1101}).Kernel("longest", {1102, 1106}).Kernel("c", {1107, 1108});
  const trace::Trace trace = rank.Finish();
  const std::vector<SliceTrack> tracks = TracksOf(trace);
  const SliceColumns columns = ColumnsOf(trace, SliceTable::kActivities);
  // Bins of 2^17 ns, 131 us: the first kernel covers 7.8 bins, the others begin in bin 8.
  const std::vector<TileSlice> slices = SlicesIn(tracks[0], columns, {17, 0}, 0);
  ASSERT_EQ(slices.size(), 2U);
  EXPECT_EQ(slices[0].merged, 1U);
  EXPECT_EQ(slices[0].begin, 0U);
  EXPECT_EQ(slices[0].end, 1'024'000U * kPartsOfBin / 131'072);
  EXPECT_EQ(slices[1].merged, 3U);
  EXPECT_EQ(trace.Text(columns.name[slices[1].row]), "longest");
  // At 2^8 ns they are apart, and those outside the tile are not there.
  const std::int64_t tile = 1'100'000 / (256 * 512);
  EXPECT_EQ(SlicesIn(tracks[0], columns, {8, tile}, 0).size(), 3U);
}

TEST(SlicesInTest, ASliceThatBeganBeforeTheTileIsClipped) {
  analyze::test_run::Rank rank(0);
  rank.Kernel("long", {0, 10'000});
  const trace::Trace trace = rank.Finish();
  const std::vector<SliceTrack> tracks = TracksOf(trace);
  const std::vector<TileSlice> slices =
      SlicesIn(tracks[0], ColumnsOf(trace, SliceTable::kActivities), {10, 1}, 0);
  EXPECT_EQ(slices, (std::vector<TileSlice>{{0, 512 * kPartsOfBin, 0, 1, 0}}));
}

// Whatever the level: every slice that touches the tile is counted once, in order.
TEST(SlicesInTest, TilesCountEverySliceOnce) {
  analyze::test_run::Rank rank(0);
  std::uint64_t random = 7;
  std::int64_t at = 0;
  for (int i = 0; i < 3'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    const auto length =
        static_cast<std::int64_t>(1 + (random >> 40) % ((random >> 20) % 40 == 0 ? 5'000 : 20));
    rank.Kernel("k", {at, at + length});
    at += length + static_cast<std::int64_t>((random >> 50) % 5);
  }
  const trace::Trace trace = rank.Finish();
  const std::vector<SliceTrack> tracks = TracksOf(trace);
  const SliceColumns columns = ColumnsOf(trace, SliceTable::kActivities);
  for (int level = 8; level < 24; ++level) {
    const std::int64_t tile = std::min<std::int64_t>(1, LastTile(level));
    const TileAt where{level, tile};
    std::size_t expected = 0;
    for (RowId row = 0; row < columns.begin_ns.size(); ++row) {
      expected +=
          columns.begin_ns[row] < where.end_ns() && columns.EndOf(row) > where.begin_ns() ? 1 : 0;
    }
    std::size_t counted = 0;
    std::uint32_t last_begin = 0;
    for (const TileSlice& slice : SlicesIn(tracks[0], columns, where, 0)) {
      counted += slice.merged;
      EXPECT_LE(slice.begin, slice.end);
      EXPECT_GE(slice.begin, last_begin);
      last_begin = slice.begin;
    }
    EXPECT_EQ(counted, expected) << "level " << level;
  }
}

TEST(SliceRowTest, TheLongestOfManyIsThatOfALinearSearch) {
  analyze::test_run::Rank rank(0);
  std::uint64_t random = 3;
  for (std::int64_t i = 0; i < 1'000; ++i) {
    random = random * 6364136223846793005U + 1442695040888963407U;
    rank.Kernel("k", {i * 100, i * 100 + 1 + static_cast<std::int64_t>((random >> 33) % 99)});
  }
  const trace::Trace trace = rank.Finish();
  const std::vector<SliceTrack> tracks = TracksOf(trace);
  const SliceColumns columns = ColumnsOf(trace, SliceTable::kActivities);
  const SliceRow& row = tracks[0].depths[0];
  for (const auto& [first, end] : {std::pair<std::size_t, std::size_t>{0, 1'000},
                                   {3, 5},
                                   {63, 65},
                                   {64, 128},
                                   {1, 999},
                                   {100, 700}}) {
    std::int64_t longest = 0;
    for (std::size_t i = first; i < end; ++i) {
      longest = std::max(longest, columns.duration_ns[row.rows()[i]]);
    }
    EXPECT_EQ(columns.duration_ns[row.Longest(columns, first, end)], longest);
  }
}

}  // namespace
}  // namespace orrery::api::view
