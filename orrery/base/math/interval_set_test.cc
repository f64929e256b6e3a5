#include "orrery/base/math/interval_set.h"

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery {
namespace {

IntervalSet SetOf(const std::vector<Interval>& intervals) {
  return IntervalSet::Of(intervals);
}

TEST(IntervalSetTest, MergesWhatOverlapsOrTouches) {
  EXPECT_EQ(SetOf({{5, 7}, {0, 2}, {2, 4}, {6, 9}, {3, 3}}), SetOf({{0, 4}, {5, 9}}));
}

TEST(IntervalSetTest, SetOperations) {
  const IntervalSet a = SetOf({{0, 10}, {20, 30}});
  const IntervalSet b = SetOf({{5, 25}, {40, 50}});
  EXPECT_EQ(Union(a, b), SetOf({{0, 30}, {40, 50}}));
  EXPECT_EQ(Intersection(a, b), SetOf({{5, 10}, {20, 25}}));
  EXPECT_EQ(Difference(a, b), SetOf({{0, 5}, {25, 30}}));
  EXPECT_EQ(Clipped(b, {24, 41}), SetOf({{24, 25}, {40, 41}}));
  EXPECT_EQ(b.LengthWithin(24, 41), 2);
}

std::vector<Interval> SmallIntervals() {
  std::vector<Interval> intervals;
  for (const auto& [begin, length] : *rc::gen::container<std::vector<std::pair<int, int>>>(
           rc::gen::pair(rc::gen::inRange(0, 60), rc::gen::inRange(0, 12)))) {
    intervals.push_back({begin, begin + length});
  }
  return intervals;
}

bool Holds(const std::vector<Interval>& intervals, std::int64_t instant) {
  return std::ranges::any_of(intervals, [&](const Interval& interval) {
    return interval.begin_ns <= instant && instant < interval.end_ns;
  });
}

// Against the definition, instant by instant.
RC_GTEST_PROP(IntervalSetProperty, AgreesWithSetsOfInstants, ()) {
  const std::vector<Interval> a = SmallIntervals();
  const std::vector<Interval> b = SmallIntervals();
  std::int64_t in_both = 0;
  std::int64_t only_a = 0;
  std::int64_t in_any = 0;
  for (std::int64_t t = 0; t < 80; ++t) {
    in_both += Holds(a, t) && Holds(b, t) ? 1 : 0;
    only_a += Holds(a, t) && !Holds(b, t) ? 1 : 0;
    in_any += Holds(a, t) || Holds(b, t) ? 1 : 0;
  }
  const IntervalSet set_a = SetOf(a);
  const IntervalSet set_b = SetOf(b);
  RC_ASSERT(OverlapNs(set_a, set_b) == in_both);
  RC_ASSERT(OverlapNs(set_b, set_a) == in_both);
  RC_ASSERT(Intersection(set_a, set_b).length_ns() == in_both);
  RC_ASSERT(Difference(set_a, set_b).length_ns() == only_a);
  RC_ASSERT(Union(set_a, set_b).length_ns() == in_any);
  RC_ASSERT(Union(set_a, set_a) == set_a);
  RC_ASSERT(Clipped(Clipped(set_a, {10, 40}), {10, 40}) == Clipped(set_a, {10, 40}));
  RC_ASSERT(Clipped(set_a, {10, 40}).length_ns() == set_a.LengthWithin(10, 40));
}

}  // namespace
}  // namespace orrery
