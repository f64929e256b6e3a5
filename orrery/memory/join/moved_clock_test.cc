#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/memory/join/joined_times.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

// 100 is 10 and 300 is 20, so that 200 is 15; before and after clocks run alike.
TEST(MovedClock, GoesInStraightLinesBetweenAnchors) {
  const MovedClock clock({{.from_ns = 100, .to_ns = 10}, {.from_ns = 300, .to_ns = 20}});

  EXPECT_EQ(clock.At(100), 10);
  EXPECT_EQ(clock.At(200), 15);
  EXPECT_EQ(clock.At(300), 20);
  EXPECT_EQ(clock.At(90), 0);
  EXPECT_EQ(clock.At(307), 27);
}

// The launch at 100 began at 50 on a busy stream, the one at 200 at 20 on an idle one: the host was
// at most at 20 when it asked for the first.
TEST(MovedClock, WhatTheHostDidBeforeALaunchStaysBeforeIt) {
  const MovedClock clock({{.from_ns = 100, .to_ns = 50}, {.from_ns = 200, .to_ns = 20}});

  EXPECT_EQ(clock.At(100), 20);
  EXPECT_EQ(clock.At(200), 20);
}

TEST(MovedClock, LaunchesOfOneMomentBeginWithTheFirst) {
  const MovedClock clock({{.from_ns = 100, .to_ns = 50}, {.from_ns = 100, .to_ns = 20}});

  EXPECT_EQ(clock.At(100), 20);
}

RC_GTEST_PROP(MovedClock, KeepsTheOrderOfTimes, ()) {
  const auto time = rc::gen::inRange<std::int64_t>(-1000, 1000);
  const auto anchors = *rc::gen::nonEmpty(rc::gen::container<std::vector<ClockAnchor>>(rc::gen::map(
      rc::gen::pair(time, time),
      [](const auto& pair) { return ClockAnchor{.from_ns = pair.first, .to_ns = pair.second}; })));
  const std::int64_t earlier = *time;
  const std::int64_t later = earlier + *rc::gen::inRange<std::int64_t>(0, 500);
  const MovedClock clock(anchors);
  RC_ASSERT(clock.At(earlier) <= clock.At(later));
}

TEST(MoveRows, MovesBeginsAndEndsOfAllTables) {
  trace::Trace trace;
  trace.host_ops.Append({.begin_ns = 100, .duration_ns = 200});
  trace.memory_objects.Append({.begin_ns = 200, .duration_ns = -1});
  trace.memory_events.Append({.begin_ns = 300});

  MoveRows(MovedClock({{.from_ns = 100, .to_ns = 10}, {.from_ns = 300, .to_ns = 20}}), trace);

  EXPECT_EQ(trace.host_ops.begin_ns[0], 10);
  EXPECT_EQ(trace.host_ops.duration_ns[0], 10);
  EXPECT_EQ(trace.memory_objects.begin_ns[0], 15);
  EXPECT_EQ(trace.memory_objects.duration_ns[0], -1);
  EXPECT_EQ(trace.memory_events.begin_ns[0], 20);
}

}  // namespace
}  // namespace orrery::memory
