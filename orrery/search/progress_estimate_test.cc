#include "orrery/search/progress_estimate.h"

#include <gtest/gtest.h>

#include "orrery/search/search.h"

namespace orrery::search {
namespace {

constexpr SearchProgress kQuarter{.ids_bounded = 250, .num_ids = 1'000, .considered = 80};
constexpr SearchProgress kBounded{.ids_bounded = 1'000, .num_ids = 1'000, .considered = 400};

SearchProgress Simulated(std::uint64_t simulated, std::uint64_t open) {
  SearchProgress progress = kBounded;
  progress.simulated = simulated;
  progress.open = open;
  return progress;
}

TEST(ProgressEstimateTest, SaysNothingAboutTimeAtFirst) {
  ProgressEstimate estimate(20);
  EXPECT_EQ(ProgressText(estimate.Update(kQuarter, 0.5)), "80 plans bounded");
}

// 80 plans in 4 s; a quarter took 4 s, so that the others take 12.
TEST(ProgressEstimateTest, BoundingIsLinear) {
  ProgressEstimate estimate(20);
  EXPECT_EQ(ProgressText(estimate.Update(kQuarter, 4)),
            "80 plans bounded (20 a second), 25.0 % of the space, 12 s until plans are simulated");
}

// 40 plans in 8 s after the bounds were complete at 10 s. Of 400 plans 100 are open, 40 of which
// were simulated: 60 are not decided, at 5 a second.
TEST(ProgressEstimateTest, OpenPlansAreTheMostThatIsLeft) {
  ProgressEstimate estimate(20);
  estimate.Update(kBounded, 10);
  EXPECT_EQ(ProgressText(estimate.Update(Simulated(40, 100), 18)),
            "40 plans simulated (5.0 a second), 85.0 % decided, at most 12 s left");
}

// Before 32 plans, or as many as are to be kept, are simulated, all of the others are open.
TEST(ProgressEstimateTest, SaysNothingOfTheEndBeforeSomePlansAreKept) {
  ProgressEstimate estimate(50);
  estimate.Update(kBounded, 10);
  EXPECT_EQ(ProgressText(estimate.Update(Simulated(40, 400), 18)),
            "40 plans simulated (5.0 a second), 10.0 % decided");
}

// 5 plans in 20 s: the other 395 take at most 1,580 s, 27 minutes.
TEST(ProgressEstimateTest, SaysWhatMayComeWherePlansAreSlow) {
  ProgressEstimate estimate(50);
  estimate.Update(kBounded, 10);
  EXPECT_EQ(ProgressText(estimate.Update(Simulated(5, 400), 30)),
            "5 plans simulated (0.2 a second), 1.2 % decided, at most 27 min left");
}

// With the bounds of a store, the first report is one of a plan: the speed is that since then. The
// number of plans is not known.
TEST(ProgressEstimateTest, GoesOnFromAStore) {
  ProgressEstimate estimate(20);
  EXPECT_EQ(ProgressText(estimate.Update({.simulated = 1, .open = 1'000}, 0.25)),
            "1 plan simulated");
  EXPECT_EQ(ProgressText(estimate.Update({.simulated = 41, .open = 1'041}, 4.25)),
            "41 plans simulated (10 a second), at most 100 s left");
}

TEST(ProgressEstimateTest, IsNeverDoneBeforeTheEnd) {
  ProgressEstimate estimate(20);
  estimate.Update(kBounded, 10);
  EXPECT_EQ(ProgressText(estimate.Update(Simulated(40, 40), 18)),
            "40 plans simulated (5.0 a second), 99.9 % decided, at most 1 s left");
}

}  // namespace
}  // namespace orrery::search
