#include "capture/recorder/numbering.h"

#include <set>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::capture {
namespace {

TEST(NumberingTest, CountedNumbersBeginAtOne) {
  Numbering numbering(Ordering::kCounted, 1000);

  EXPECT_EQ(numbering.Next(1000), 1U);
  EXPECT_EQ(numbering.Late(500, 77, 3), 2U);
}

// Between two events at 10 ns and 30 ns after the start, a call that began at 20 ns is told of
// afterwards.
TEST(NumberingTest, WhatIsToldOfLaterFindsItsPlace) {
  Numbering numbering(Ordering::kByTime, 1000);
  const std::uint64_t before = numbering.Next(1010);
  const std::uint64_t after = numbering.Next(1030);

  const std::uint64_t late = numbering.Late(1020, 5, 0);

  EXPECT_EQ(before, 10U * 256);
  EXPECT_EQ(after, 30U * 256);
  EXPECT_EQ(late, 20U * 256 + 11);
  EXPECT_EQ(numbering.LateCall(1020, 5), late + 1);
}

TEST(NumberingTest, AClockThatStandsOrGoesBackDoesNotStopNumbers) {
  Numbering numbering(Ordering::kByTime, 1000);

  const std::uint64_t first = numbering.Next(1010);
  const std::uint64_t second = numbering.Next(1010);
  const std::uint64_t third = numbering.Next(900);

  EXPECT_LT(first, second);
  EXPECT_LT(second, third);
}

// Calls of several threads within one tick of the clock have neighbouring correlation numbers.
RC_GTEST_PROP(NumberingTest, CallsWithinOneTickHaveDifferentNumbers, ()) {
  Numbering numbering(Ordering::kByTime, 0);
  const auto first = *rc::gen::inRange<std::uint64_t>(0, 1U << 20);
  const auto time = *rc::gen::inRange<std::int64_t>(0, 1U << 20);
  std::set<std::uint64_t> numbers{numbering.Next(time)};
  for (std::uint64_t call = 0; call < 127; ++call) {
    numbers.insert(numbering.Late(time, first + call, 0));
    numbers.insert(numbering.LateCall(time, first + call));
  }
  RC_ASSERT(numbers.size() == 255U);
}

}  // namespace
}  // namespace orrery::capture
