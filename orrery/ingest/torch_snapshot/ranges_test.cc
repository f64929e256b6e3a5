#include "orrery/ingest/torch_snapshot/ranges.h"

#include <cstdint>
#include <map>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::ingest::torch_snapshot {
namespace {

TEST(RangesTest, RemovingTheMiddleLeavesBothSides) {
  Ranges<char> ranges;
  ranges.Add(10, 40, 'a');

  const auto cut = ranges.Remove(20, 30);

  ASSERT_EQ(cut.size(), 1U);
  EXPECT_EQ(cut[0].begin, 10U);
  EXPECT_EQ(cut[0].end, 40U);
  EXPECT_NE(ranges.Find(19), nullptr);
  EXPECT_EQ(ranges.Find(20), nullptr);
  EXPECT_EQ(ranges.Find(29), nullptr);
  EXPECT_NE(ranges.Find(30), nullptr);
}

TEST(RangesTest, TheEndIsOutside) {
  Ranges<char> ranges;
  ranges.Add(10, 20, 'a');

  EXPECT_EQ(ranges.Find(9), nullptr);
  EXPECT_NE(ranges.Find(10), nullptr);
  EXPECT_EQ(ranges.Find(20), nullptr);
  EXPECT_TRUE(ranges.Remove(20, 30).empty());
  EXPECT_TRUE(ranges.Remove(0, 10).empty());
}

// Against a map from every address to its value.
RC_GTEST_PROP(RangesProperty, AgreeWithOneEntryForEachAddress, ()) {
  Ranges<int> ranges;
  std::map<std::uint64_t, int> slow;
  const int num_steps = *rc::gen::inRange(0, 40);
  for (int step = 0; step < num_steps; ++step) {
    const auto begin = *rc::gen::inRange<std::uint64_t>(0, 64);
    const auto end = begin + *rc::gen::inRange<std::uint64_t>(0, 16);
    const bool adds = *rc::gen::arbitrary<bool>();
    for (std::uint64_t address = begin; address < end; ++address) {
      slow.erase(address);
      if (adds) {
        slow[address] = step;
      }
    }
    if (adds) {
      ranges.Add(begin, end, step);
    } else {
      ranges.Remove(begin, end);
    }
  }
  for (std::uint64_t address = 0; address < 80; ++address) {
    const auto known = slow.find(address);
    const Range<int>* const found = ranges.Find(address);
    const int value = found == nullptr ? -1 : found->value;
    const int expected = known == slow.end() ? -1 : known->second;
    RC_ASSERT(value == expected);
  }
}

}  // namespace
}  // namespace orrery::ingest::torch_snapshot
