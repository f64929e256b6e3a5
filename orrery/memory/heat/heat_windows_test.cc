#include <cstddef>
#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/memory/heat/heat.h"
#include "orrery/memory/recording_test.h"

namespace orrery::memory {
namespace {

constexpr std::int64_t kMillion = 1'000'000;

// One object of 64 bytes that launches access `accesses` times each.
AccessHeat HeatOfLaunches(int num_launches, std::int64_t accesses, const HeatOptions& options) {
  TestRecording recording;
  const RowId object = recording.Born(0, 64);
  for (int i = 0; i < num_launches; ++i) {
    recording.Touched(recording.Launched("k"), object, 4 * accesses, 0);
  }
  const auto heat = HeatOf(recording.trace, options);
  EXPECT_TRUE(heat);
  return heat ? *heat : AccessHeat();
}

// 4,096 windows of a million accesses are enough for 4,096 million; one access more needs windows
// of two million, 2,049 of them.
TEST(HeatWindows, WithoutAWindowItDoublesUntilThereAreFew) {
  const AccessHeat full = HeatOfLaunches(4'096, kMillion, {});
  EXPECT_EQ(full.window, kMillion);
  EXPECT_EQ(full.num_windows, 4'096U);
  const AccessHeat more = HeatOfLaunches(4'097, kMillion, {});
  EXPECT_EQ(more.window, 2 * kMillion);
  EXPECT_EQ(more.num_windows, 2'049U);
  EXPECT_EQ(more.cells[0], (HeatCell{.block = 0, .window = 0, .accesses = 2 * kMillion}));
  EXPECT_EQ(more.cells.back(), (HeatCell{.block = 0, .window = 2'048, .accesses = kMillion}));
}

// One launch of 2^50 accesses: 2^50 / 4,096 = 2^38 are 274,878 million; the next of 1, 2, 4 …
// million is 524,288 million, and 2^50 by that is 2,147.5.
TEST(HeatWindows, OneLaunchMayNeedAllOfThem) {
  const AccessHeat heat = HeatOfLaunches(1, std::int64_t{1} << 50, {});
  EXPECT_EQ(heat.window, 524'288 * kMillion);
  EXPECT_EQ(heat.num_windows, 2'148U);
  EXPECT_EQ(heat.total_accesses, std::int64_t{1} << 50);
}

TEST(HeatWindows, AWindowThatIsAskedForStays) {
  const AccessHeat heat = HeatOfLaunches(4'097, kMillion, {.window = kMillion});
  EXPECT_EQ(heat.window, kMillion);
  EXPECT_EQ(heat.num_windows, 4'097U);
}

// A million blocks of 32 bytes in three windows are three million cells; with windows twice as long
// two million, and one million when all accesses are in one window.
TEST(HeatWindows, ManyCellsMakeWindowsLonger) {
  TestRecording recording;
  const std::int64_t blocks = 1 << 20;
  const RowId object = recording.Born(0, 32 * blocks);
  for (int i = 0; i < 3; ++i) {
    recording.Touched(recording.Launched("k"), object, 4 * blocks, 0);
  }
  const auto heat = HeatOf(recording.trace, {.block_bytes = 32});
  ASSERT_TRUE(heat);
  EXPECT_EQ(heat->num_windows, 1U);
  EXPECT_EQ(heat->window, 4 * kMillion);
  EXPECT_EQ(heat->cells.size(), static_cast<std::size_t>(blocks));
}

// Launches begin at 100 and 200 ns on one stream, then at 150 on another; the recording begins with
// the first of them, whichever comes first in time.
TEST(HeatWindows, TimeMayGoBack) {
  TestRecording recording;
  const RowId object = recording.Born(0, 64);
  for (const std::int64_t begin_ns : {100, 200, 150, 20}) {
    const RowId launch = recording.Launched("k");
    recording.trace.activities.begin_ns[launch] = begin_ns;
    recording.Touched(launch, object, 4, 0);
  }
  const auto heat = HeatOf(recording.trace, {.unit = WindowUnit::kNanoseconds, .window = 50});
  ASSERT_TRUE(heat);
  EXPECT_EQ(heat->cells, (std::vector<HeatCell>{{0, 0, 2}, {0, 1, 1}, {0, 2, 1}}));
}

// Windows of any length that come about by doubling have what windows of that length have.
RC_GTEST_PROP(HeatWindows, DoublingIsAsIfTheWindowHadBeenChosen, ()) {
  HeatOptions options{.unit = *rc::gen::element(WindowUnit::kAccesses, WindowUnit::kNanoseconds)};
  TestRecording recording;
  for (int i = *rc::gen::inRange(1, 20); i > 0; --i) {
    const RowId object =
        recording.Born(*rc::gen::inRange<std::uint64_t>(0, 1 << 24), *rc::gen::inRange(1, 1 << 24));
    const RowId launch = recording.Launched("k");
    recording.trace.activities.begin_ns[launch] = *rc::gen::inRange<std::int64_t>(0, 1LL << 40);
    recording.Touched(launch, object, *rc::gen::inRange<std::int64_t>(0, 1LL << 45), 0);
  }
  auto doubled = HeatOf(recording.trace, options);
  RC_ASSERT(doubled.has_value());
  options.window = doubled->window;
  const auto chosen = HeatOf(recording.trace, options);
  RC_ASSERT(chosen.has_value());
  RC_ASSERT(*doubled == *chosen);
  RC_ASSERT(doubled->num_windows <= 4'096U);
}

}  // namespace
}  // namespace orrery::memory
