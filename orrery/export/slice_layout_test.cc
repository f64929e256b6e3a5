#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/export/collective_spans.h"

namespace orrery::exporting {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;
using ::testing::Eq;
using ::testing::IsEmpty;

bool Cross(const LayoutSlice& earlier, const LayoutSlice& later) {
  return earlier.begin_ns < later.begin_ns && later.begin_ns < earlier.end_ns &&
         earlier.end_ns < later.end_ns;
}

void ExpectLanesNest(const std::vector<LayoutSlice>& slices, const std::vector<Lane>& lanes) {
  for (std::size_t a = 0; a < slices.size(); ++a) {
    for (std::size_t b = a + 1; b < slices.size(); ++b) {
      EXPECT_FALSE(lanes[a] == lanes[b] && Cross(slices[a], slices[b])) << a << " and " << b;
    }
  }
}

std::vector<LayoutSlice> RandomSlices(std::uint32_t seed, int count) {
  std::mt19937 random(seed);
  std::vector<LayoutSlice> slices;
  for (int i = 0; i < count; ++i) {
    const auto begin = static_cast<std::int64_t>(random() % 200);
    const auto duration = static_cast<std::int64_t>(random() % 40);
    slices.push_back({begin, begin + duration, static_cast<std::uint8_t>(random() % 3)});
  }
  std::stable_sort(slices.begin(), slices.end(), [](const auto& lhs, const auto& rhs) {
    return lhs.begin_ns != rhs.begin_ns ? lhs.begin_ns < rhs.begin_ns : lhs.end_ns > rhs.end_ns;
  });
  return slices;
}

TEST(SliceLayoutTest, NothingNeedsOneLane) {
  EXPECT_THAT(LayOutSlices({}), IsEmpty());
  EXPECT_EQ(CountLanes({}), 1);
}

TEST(SliceLayoutTest, NestedAndTouchingSlicesShareALane) {
  const std::vector<LayoutSlice> slices = {{0, 100}, {0, 50}, {50, 100}, {60, 60}, {100, 120}};
  EXPECT_THAT(LayOutSlices(slices), Each(Eq(0)));
}

TEST(SliceLayoutTest, TheSliceThatCrossesGoesToTheNextLane) {
  // 5..15 crosses 0..10; 10..20 fits behind 0..10 again; 12..14 fits into both, the first wins.
  const std::vector<LayoutSlice> slices = {{0, 10}, {5, 15}, {10, 20}, {12, 14}};
  EXPECT_THAT(LayOutSlices(slices), ElementsAre(0, 1, 0, 0));
}

TEST(SliceLayoutTest, AHigherLayerGivesWayWhereItCrosses) {
  // By time alone the wait of layer 1 would keep lane 0 and the kernel would move. The other waits
  // lie beside, inside and around kernels and stay.
  const std::vector<LayoutSlice> slices = {{0, 10, 1},  {5, 15, 0},  {6, 7, 1},
                                           {20, 30, 1}, {40, 60, 1}, {45, 50, 0}};
  EXPECT_THAT(LayOutSlices(slices), ElementsAre(1, 0, 0, 0, 0, 0));
}

TEST(SliceLayoutTest, ASliceThatEndsInsideALowerLayerGivesWay) {
  const std::vector<LayoutSlice> slices = {{0, 10, 0}, {5, 12, 1}, {11, 20, 0}};
  EXPECT_THAT(LayOutSlices(slices), ElementsAre(0, 1, 0));
}

TEST(SliceLayoutTest, SlicesOfAHigherLayerDoNotCrossEachOtherEither) {
  const std::vector<LayoutSlice> slices = {{0, 10, 1}, {5, 15, 1}, {20, 30, 1}};
  EXPECT_THAT(LayOutSlices(slices), ElementsAre(0, 1, 0));
}

TEST(SliceLayoutTest, EachLayerHasFurtherLanesOfItsOwn) {
  // Layer 1 lies around layer 0; layer 2 crosses both.
  const std::vector<LayoutSlice> slices = {{0, 10, 1}, {1, 9, 0}, {8, 12, 2}};
  EXPECT_THAT(LayOutSlices(slices), ElementsAre(0, 0, 1));
}

TEST(SliceLayoutTest, AnAttachedSliceFollowsItsOwner) {
  // The second slice moves to lane 1; what is attached to it would fit on lane 0, too.
  const std::vector<LayoutSlice> slices = {{0, 10}, {5, 15}, {5, 8, 0, true}};
  EXPECT_THAT(LayOutSlices(slices), ElementsAre(0, 1, 1));
}

TEST(SliceLayoutTest, ManyRandomSlicesNestOnEveryLane) {
  for (std::uint32_t seed = 0; seed < 20; ++seed) {
    const std::vector<LayoutSlice> slices = RandomSlices(seed, 120);
    const std::vector<Lane> lanes = LayOutSlices(slices);
    ExpectLanesNest(slices, lanes);
    EXPECT_EQ(lanes, LayOutSlices(slices));
  }
}

}  // namespace
}  // namespace orrery::exporting
