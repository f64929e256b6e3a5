#include "capture/cupti/shared_clock.h"

#include <gtest/gtest.h>

namespace orrery::capture {
namespace {

// The other clock counts 3 ticks a nanosecond: 7,000 at our 1,000 and 7,600 at our 1,200. Our 1,100
// is 100 ns after the first moment: 7,000 + 300.
TEST(SharedClockTest, TimesLieOnTheLineThroughTwoMoments) {
  SharedClock clock;
  clock.Begin(1'000, 7'000);
  clock.Update(1'200, 7'600);

  EXPECT_EQ(clock.TheirTime(1'100), 7'300U);
  EXPECT_EQ(clock.TheirTime(900), 6'700U) << "before the first moment";
  EXPECT_EQ(clock.TheirTime(0), 0U) << "not known stays not known";
}

TEST(SharedClockTest, AClockThatDoesNotMoveGivesNoRate) {
  SharedClock clock;
  clock.Begin(1'000, 7'000);
  clock.Update(1'000, 7'000);

  EXPECT_EQ(clock.TheirTime(1'010), 7'010U);
}

}  // namespace
}  // namespace orrery::capture
