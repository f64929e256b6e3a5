#include "orrery/overlap/contention.h"

#include <gtest/gtest.h>

namespace orrery::overlap {
namespace {

MeasuredPair Arrives(bool compute_is_first, double offset_us) {
  MeasuredPair pair;
  pair.mode = Mode::kArrival;
  pair.pair.compute.alone_us = 100;
  pair.communication_alone_us = 60;
  pair.compute_is_first = compute_is_first;
  pair.offset_us = offset_us;
  return pair;
}

TEST(Contention, PlaysBothAtTheirPace) {
  // Alone for 40 µs, then both: 60 µs of work at half speed take 120, communication's 60 at 2/3
  // speed take 90 and end first. By then 45 are done and 15 left alone: 40 + 90 + 15.
  const Course course =
      PlayPair(Arrives(true, 30), {.compute = 2, .communication = 1.5}, /*delay_us=*/10);
  EXPECT_DOUBLE_EQ(course.compute_us, 145);
  EXPECT_DOUBLE_EQ(course.communication_us, 90);
  EXPECT_DOUBLE_EQ(course.both_us, 90);
}

TEST(Contention, NothingIsSharedWhenTheFirstHasGone) {
  const Course course = PlayPair(Arrives(false, 30), {.compute = 2, .communication = 2}, 40);
  EXPECT_DOUBLE_EQ(course.compute_us, 100);
  EXPECT_DOUBLE_EQ(course.communication_us, 60);
  EXPECT_DOUBLE_EQ(course.both_us, 0);
}

TEST(Contention, FindsTheStretchThatWasPlayed) {
  MeasuredPair pair = Arrives(true, 30);
  pair.together_us = 145;
  pair.communication_delay_us = 10;
  pair.communication_together_us = 90;
  const std::optional<ShownStretch> shown = StretchShown(pair);
  ASSERT_TRUE(shown);
  EXPECT_DOUBLE_EQ(shown->stretch, 2);
  EXPECT_DOUBLE_EQ(shown->share, 90.0 / 145);
}

TEST(Contention, SaysNothingWhereBothNeverMet) {
  MeasuredPair pair = Arrives(true, 120);
  pair.together_us = 100;
  pair.communication_delay_us = 0;
  pair.communication_together_us = 60;
  EXPECT_FALSE(StretchShown(pair));
}

}  // namespace
}  // namespace orrery::overlap
