#include "orrery/trace/clock/position_alignment.h"

#include <cstddef>
#include <cstdint>
#include <random>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

namespace orrery::trace {
namespace {

using testing::ElementsAre;
using Method = PositionAlignment::Method;

constexpr std::int64_t kMs = 1'000'000;

// One item a letter; the letter is the signature. Item i ends at `ends_ms[i]`.
std::vector<SequenceItem> Sequence(std::string_view letters,
                                   const std::vector<std::int64_t>& ends_ms) {
  std::vector<SequenceItem> items;
  for (std::size_t i = 0; i < letters.size(); ++i) {
    items.push_back({static_cast<std::uint64_t>(letters[i]), ends_ms[i] * kMs});
  }
  return items;
}

TEST(PositionAlignmentTest, EqualSequencesStayAsTheyStand) {
  const auto items = Sequence("abcab", {1, 2, 4, 7, 9});

  const PositionAlignment alignment = AlignPositions(items, items);

  EXPECT_EQ(alignment.method, Method::kShift);
  EXPECT_EQ(alignment.shift, 0);
  EXPECT_FALSE(alignment.ambiguous);
}

// The other profile began two collectives later: its first item is the reference's third.
TEST(PositionAlignmentTest, ALateStartIsAShift) {
  const PositionAlignment alignment = AlignPositions(Sequence("abcdefg", {1, 2, 3, 4, 5, 6, 7}),
                                                     Sequence("cdefg", {3, 4, 5, 6, 7}));

  EXPECT_EQ(alignment.shift, 2);
  EXPECT_EQ(alignment.PositionOf(0), 2);
}

// And one that began earlier has items before the reference's first.
TEST(PositionAlignmentTest, AnEarlyStartIsANegativeShift) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("cdefg", {3, 4, 5, 6, 7}), Sequence("bcdef", {2, 3, 4, 5, 6}));

  EXPECT_EQ(alignment.shift, -1);
  EXPECT_EQ(alignment.PositionOf(0), -1);
}

// All letters are equal, so only times tell. With shift 1 the ends differ by the clock offset of
// 100 ms throughout; with shift 0 by 101, 102, 104, 108.
TEST(PositionAlignmentTest, TheScatterOfEndsDecidesWhateverTheClockOffset) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("aaaaa", {0, 1, 3, 7, 15}), Sequence("aaaa", {101, 103, 107, 115}));

  EXPECT_EQ(alignment.shift, 1);
  EXPECT_FALSE(alignment.ambiguous);
}

// Every 10 ms the same: the scatter is 0 for each shift, and the offset decides for shift 1.
TEST(PositionAlignmentTest, TheSmallestOffsetDecidesAmongPeriodicCollectives) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("aaaaa", {10, 20, 30, 40, 50}), Sequence("aaaa", {20, 30, 40, 50}));

  EXPECT_EQ(alignment.shift, 1);
  EXPECT_FALSE(alignment.ambiguous);
}

// The clock offset of 5 ms lies in the middle: shift 0 and shift 1 are both off by 5 ms.
TEST(PositionAlignmentTest, TwoEquallyGoodShiftsAreAmbiguous) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("aaaaa", {10, 20, 30, 40, 50}), Sequence("aaaa", {15, 25, 35, 45}));

  EXPECT_TRUE(alignment.ambiguous);
}

TEST(PositionAlignmentTest, StepMarkersSettleAnAmbiguity) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("aaaaa", {10, 20, 30, 40, 50}), Sequence("aaaa", {15, 25, 35, 45}),
                     {.items_per_step = 2, .shift_by_steps = 1});

  EXPECT_EQ(alignment.shift, 1);
  EXPECT_FALSE(alignment.ambiguous);
}

// Forty equal collectives at the square of their number in ms; the other begins with number 20.
// Within 16 places signatures agree and times do not, so the search goes on.
TEST(PositionAlignmentTest, TheSearchGoesFartherWhenNoNearShiftFitsInTime) {
  std::vector<SequenceItem> reference;
  for (std::int64_t i = 0; i < 40; ++i) {
    reference.push_back({1, i * i * kMs});
  }
  const std::vector<SequenceItem> other(reference.begin() + 20, reference.end());

  EXPECT_EQ(AlignPositions(reference, other).shift, 20);
}

// The d is missing in the middle and no shift agrees.
TEST(PositionAlignmentTest, AGapIsBridgedByTheCommonSubsequence) {
  const PositionAlignment alignment = AlignPositions(Sequence("abcdefg", {1, 2, 3, 4, 5, 6, 7}),
                                                     Sequence("abcefg", {1, 2, 3, 5, 6, 7}));

  EXPECT_EQ(alignment.method, Method::kSubsequence);
  EXPECT_THAT(alignment.positions, ElementsAre(0, 1, 2, 4, 5, 6));
}

// One letter differs: one pair in doubt explains it as well as two left out.
TEST(PositionAlignmentTest, OneDisagreementKeepsThePairs) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("abcde", {1, 2, 3, 4, 5}), Sequence("abxde", {1, 2, 3, 4, 5}));

  EXPECT_EQ(alignment.method, Method::kShift);
  EXPECT_EQ(alignment.shift, 0);
}

// Equal numbers, but b was lost early and g came at the end: five pairs would disagree where the
// subsequence leaves out two items.
TEST(PositionAlignmentTest, EqualNumbersDoNotHideAGap) {
  const PositionAlignment alignment = AlignPositions(Sequence("xabcdef", {1, 2, 3, 4, 5, 6, 7}),
                                                     Sequence("xacdefg", {1, 2, 4, 5, 6, 7, 8}));

  EXPECT_EQ(alignment.method, Method::kSubsequence);
  EXPECT_THAT(alignment.positions, ElementsAre(0, 1, 3, 4, 5, 6, kNoPosition));
}

TEST(PositionAlignmentTest, NothingInCommonIsNoAlignment) {
  const PositionAlignment alignment =
      AlignPositions(Sequence("abcd", {1, 2, 3, 4}), Sequence("wxyz", {1, 2, 3, 4}));

  EXPECT_EQ(alignment.method, Method::kNone);
  EXPECT_EQ(alignment.PositionOf(0), kNoPosition);
}

TEST(PositionAlignmentTest, AnEmptySequenceIsNoAlignment) {
  EXPECT_EQ(AlignPositions({}, Sequence("a", {1})).method, Method::kNone);
}

// 3,000 items that never repeat against 3,000 others around one common in three: far more edits
// than are tried.
TEST(PositionAlignmentTest, TooManyDifferencesStopTheSearchAndSaySo) {
  std::vector<SequenceItem> reference;
  std::vector<SequenceItem> other;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    reference.push_back({i, 0});
    other.push_back({i % 3 == 0 ? i : 10'000 + i, 0});
  }

  const PositionAlignment alignment = AlignPositions(reference, other);

  EXPECT_EQ(alignment.method, Method::kNone);
  EXPECT_TRUE(alignment.search_cut);
}

// Any window of a run with irregular times lies where it was cut, under any clock offset.
RC_GTEST_PROP(PositionAlignmentProperty, AWindowIsFoundWhereItWasCut, ()) {
  const auto length = *rc::gen::inRange<std::size_t>(20, 200);
  // Shrunk generators like equal numbers; an engine keeps the gaps irregular.
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  std::vector<SequenceItem> reference;
  std::int64_t time_ns = 0;
  for (std::size_t i = 0; i < length; ++i) {
    time_ns += static_cast<std::int64_t>(1 + engine() % 1000) * kMs;
    reference.push_back({engine() % 2, time_ns});
  }
  const auto cut = *rc::gen::inRange<std::size_t>(0, length / 2);
  const auto offset_ns = *rc::gen::inRange<std::int64_t>(-5000 * kMs, 5000 * kMs);
  std::vector<SequenceItem> window(reference.begin() + static_cast<std::ptrdiff_t>(cut),
                                   reference.end());
  for (SequenceItem& item : window) {
    item.end_ns += offset_ns;
  }

  const PositionAlignment alignment = AlignPositions(reference, window);

  RC_ASSERT(alignment.method == Method::kShift);
  RC_ASSERT(alignment.shift == static_cast<std::int64_t>(cut));
}

}  // namespace
}  // namespace orrery::trace
