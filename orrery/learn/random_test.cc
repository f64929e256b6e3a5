#include <algorithm>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/learn/data_set.h"

namespace orrery::learn {
namespace {

// The first numbers of SplitMix64 with seed 1234567, as its authors publish them.
TEST(Random, IsSplitMix64) {
  Random random(1234567);
  EXPECT_EQ(random.Next(), 6457827717110365317U);
  EXPECT_EQ(random.Next(), 3203168211198807973U);
  EXPECT_EQ(random.Next(), 9817491932198370423U);
}

TEST(Random, ShuffleKeepsAllItems) {
  std::vector<int> items(100);
  std::iota(items.begin(), items.end(), 0);
  const std::vector<int> before = items;
  Random(1).Shuffle(std::span(items));
  EXPECT_NE(items, before);
  std::sort(items.begin(), items.end());
  EXPECT_EQ(items, before);
}

TEST(Random, UnitIntervalEndsBelowOne) {
  EXPECT_EQ(UnitInterval(0), 0.0);
  EXPECT_LT(UnitInterval(~std::uint64_t{0}), 1.0);
}

}  // namespace
}  // namespace orrery::learn
