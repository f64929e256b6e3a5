#include "orrery/memory/byte_ranges.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::memory {
namespace {

ByteRange AnyRange() {
  const auto begin = *rc::gen::inRange<std::uint64_t>(0, 40);
  return {.begin = begin, .end = begin + *rc::gen::inRange<std::uint64_t>(0, 12)};
}

std::int64_t SlowUnion(const std::vector<ByteRange>& ranges) {
  std::set<std::uint64_t> bytes;
  for (const ByteRange& range : ranges) {
    for (std::uint64_t byte = range.begin; byte < range.end; ++byte) {
      bytes.insert(byte);
    }
  }
  return static_cast<std::int64_t>(bytes.size());
}

TEST(ByteRanges, RangesEndWithTheAddressSpace) {
  EXPECT_EQ(RangeOf(~0ULL - 3, 64).size(), 3);
  EXPECT_EQ(RangeOf(16, -1).size(), 0);
  EXPECT_EQ(RangeOfPages(16, 3, 8), (ByteRange{16, 40}));
  EXPECT_EQ(RangeOfPages(0, INT64_MAX, 4096).size(), INT64_MAX);
}

TEST(ByteRanges, IntersectionOfStrangersIsEmpty) {
  EXPECT_EQ(Intersection({0, 4}, {8, 12}).size(), 0);
  EXPECT_EQ(Intersection({0, 10}, {8, 12}), (ByteRange{8, 10}));
}

// PASTA defect 8: sizes above 32 bits stay whole.
TEST(ByteRanges, FiveGibibytesStayWhole) {
  constexpr std::int64_t kSize = 5LL << 30;
  CoveredBytes covered;
  covered.Add(RangeOf(1 << 20, kSize));
  EXPECT_EQ(covered.size(), kSize);
}

RC_GTEST_PROP(ByteRanges, UnionAgreesWithCountingBytes, ()) {
  std::vector<ByteRange> ranges;
  for (int i = *rc::gen::inRange(0, 8); i > 0; --i) {
    ranges.push_back(AnyRange());
  }
  const std::int64_t expected = SlowUnion(ranges);
  RC_ASSERT(UnionBytes(ranges) == expected);
}

RC_GTEST_PROP(ByteRanges, CoveredBytesAgreesWithCountingBytes, ()) {
  CoveredBytes covered;
  std::vector<ByteRange> held;
  for (int i = *rc::gen::inRange(0, 16); i > 0; --i) {
    if (held.empty() || *rc::gen::arbitrary<bool>()) {
      held.push_back(AnyRange());
      covered.Add(held.back());
    } else {
      const auto at = *rc::gen::inRange<std::size_t>(0, held.size());
      covered.Remove(held[at]);
      held.erase(held.begin() + static_cast<std::ptrdiff_t>(at));
    }
    RC_ASSERT(covered.size() == SlowUnion(held));
  }
}

}  // namespace
}  // namespace orrery::memory
