#include <cstdint>
#include <limits>

#include <gtest/gtest.h>

#include "orrery/ingest/xplane/plane.h"

namespace orrery::ingest::xplane {
namespace {

// 1,400 + 1,200 = 2,600 ps: the begin rounds to 1 ns and the end to 3 ns, so it lasts 2 ns,
// although 1,200 ps alone would round to 1 ns.
TEST(IntervalTest, TheSumIsRoundedNotItsParts) {
  const auto interval = IntervalOf(100, 1'400, 1'200);

  ASSERT_TRUE(interval);
  EXPECT_EQ(interval->begin_ns, 101);
  EXPECT_EQ(interval->duration_ns, 2);
}

TEST(IntervalTest, EventsThatTouchStillTouch) {
  const auto first = IntervalOf(0, 1'499, 2'001);
  const auto second = IntervalOf(0, 3'500, 10);

  EXPECT_EQ(first->begin_ns + first->duration_ns, second->begin_ns);
}

TEST(IntervalTest, OffsetsMayLieBeforeTheOrigin) {
  EXPECT_EQ(IntervalOf(0, -1'501, 0)->begin_ns, -2);
  EXPECT_EQ(IntervalOf(0, -1'500, 0)->begin_ns, -1);
  EXPECT_EQ(IntervalOf(0, -400, 0)->begin_ns, 0);
}

TEST(IntervalTest, ImpossibleTimesAreNothing) {
  constexpr auto kMax = std::numeric_limits<std::int64_t>::max();
  constexpr auto kMin = std::numeric_limits<std::int64_t>::min();

  EXPECT_FALSE(IntervalOf(kMax, 0, 0));
  EXPECT_FALSE(IntervalOf(0, kMin, 0));
  EXPECT_FALSE(IntervalOf(0, 0, kMax));
}

}  // namespace
}  // namespace orrery::ingest::xplane
