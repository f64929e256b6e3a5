#include "capture/sanitizer/device/find_slot.h"

#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "capture/sanitizer/device/layout.h"
#include "capture/sanitizer/device/warp.h"
#include "capture/sanitizer/tests/emulated_warp_test.h"
#include "capture/sanitizer/tests/generators_test.h"
#include "capture/sanitizer/tests/launch_test.h"

namespace orrery::capture {
namespace {

const std::vector<Range> kTwoApart = {{1000, 1100}, {2000, 2100}};
const std::vector<Range> kTwoTouching = {{1000, 1100}, {1100, 1200}};

std::uint32_t SlotIn(const std::vector<Range>& ranges, std::uint64_t address) {
  return FindSlot(ranges.data(), static_cast<std::uint32_t>(ranges.size()), address);
}

// PASTA defect 2: the end of a range was never compared, so gaps went to the object before.
TEST(FindSlotTest, WhatLiesInAGapBelowOrAboveIsUnknown) {
  EXPECT_EQ(SlotIn(kTwoApart, 999), kUnknownSlot);
  EXPECT_EQ(SlotIn(kTwoApart, 1000), 1U);
  EXPECT_EQ(SlotIn(kTwoApart, 1099), 1U);
  EXPECT_EQ(SlotIn(kTwoApart, 1500), kUnknownSlot);
  EXPECT_EQ(SlotIn(kTwoApart, 2099), 2U);
  EXPECT_EQ(SlotIn(kTwoApart, 2100), kUnknownSlot);
  EXPECT_EQ(SlotIn({}, 5), kUnknownSlot);
}

// PASTA defect 3: the end itself counted as inside.
TEST(FindSlotTest, TheEndBelongsToTheNextRangeIfItTouchesElseToNone) {
  EXPECT_EQ(SlotIn(kTwoApart, 1100), kUnknownSlot);
  EXPECT_EQ(SlotIn(kTwoTouching, 1100), 2U);
}

TEST(FindSlotTest, AGapIsARangeOfTheUnknownSlot) {
  const SlotRange gap = RangeAt(kTwoApart.data(), 2, 1, 1500);

  EXPECT_EQ(gap.begin, 1100U);
  EXPECT_EQ(gap.end, 2000U);
  EXPECT_EQ(gap.slot, kUnknownSlot);
}

// PASTA defect 35: y and z of the block were left out.
TEST(LinearNumberTest, CountsAllThreeDimensionsIn64Bits) {
  EXPECT_EQ(LinearNumber({3, 0, 0}, {10, 4, 2}), 3U);
  EXPECT_EQ(LinearNumber({3, 2, 1}, {10, 4, 2}), 63U);  // (1 * 4 + 2) * 10 + 3
  EXPECT_EQ(LinearNumber({0, 0, 65'534}, {2'147'483'647, 1, 65'535}),
            65'534U * std::uint64_t{2'147'483'647});
}

RC_GTEST_PROP(RemainderTest, IsThatOfTheDivision, (std::uint64_t any)) {
  const std::uint64_t value = any >> *rc::gen::inRange(0U, 63U);
  const auto divisor = *rc::gen::nonZero<std::uint32_t>();

  RC_ASSERT(Remainder(value, divisor) == value % divisor);
}

RC_GTEST_PROP(CountBeginsTogetherTest, EqualsTheSearchOfOneThread, ()) {
  const std::vector<Range> ranges = DrawRanges();
  TestLaunch launch({.ranges = ranges});
  const std::uint64_t address = DrawAddress(ranges);
  WarpState state;
  state.active = DrawMask();

  RC_ASSERT(CountBeginsTogether(EmulatedWarp(state), launch.record(), address) ==
            CountBegins(ranges.data(), static_cast<std::uint32_t>(ranges.size()), address));
}

}  // namespace
}  // namespace orrery::capture
