#include "orrery/memory/join/launch_match.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/text/common_subsequence.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::ActivityKind;

using Values = std::vector<std::uint64_t>;

/// A run with launches on streams, in the order in which they were asked for.
class TestRun {
 public:
  trace::Trace trace;

  RowId Stream(std::int64_t number, std::int32_t device = 0) {
    return trace.tracks.Append(
        {.kind = trace::TrackKind::kDevice, .thread = number, .device = device});
  }

  RowId Kernel(std::string_view name, std::int32_t grid, RowId track) {
    const RowId shape = trace.launch_shapes.Append(
        {.grid_x = grid, .grid_y = 1, .grid_z = 1, .block_x = 64, .block_y = 1, .block_z = 1});
    return trace.activities.Append({.begin_ns = ++now_ns_,
                                    .duration_ns = 1,
                                    .name = trace.strings.Intern(name),
                                    .track = track,
                                    .shape = shape});
  }

  RowId Copy(std::string_view name, std::int64_t bytes, RowId track) {
    return trace.activities.Append({.begin_ns = ++now_ns_,
                                    .name = trace.strings.Intern(name),
                                    .track = track,
                                    .kind = ActivityKind::kMemcpy,
                                    .copy_kind = trace::CopyKind::kHostToDevice,
                                    .bytes = bytes});
  }

 private:
  std::int64_t now_ns_ = 0;
};

TEST(AlignSequences, EqualSequencesArePairedAsTheyStand) {
  const Values values(100'000, 7);

  const SequenceAlignment aligned = AlignSequences(values, values);

  ASSERT_EQ(aligned.pairs.size(), values.size());
  EXPECT_EQ(aligned.pairs[54'321], (IndexPair{54'321, 54'321}));
  EXPECT_FALSE(aligned.is_cut);
}

// 1 2 3 4 5 against 1 2 9 4 4 5: 3 and 9 have no match, one of the 4s is left over.
TEST(AlignSequences, WhatOneSideLacksShiftsNothing) {
  const SequenceAlignment aligned = AlignSequences(Values{1, 2, 3, 4, 5}, Values{1, 2, 9, 4, 4, 5});

  ASSERT_EQ(aligned.pairs.size(), 4U);
  EXPECT_EQ(aligned.pairs.front(), (IndexPair{0, 0}));
  EXPECT_EQ(aligned.pairs.back(), (IndexPair{4, 5}));
}

// One pass of three steps that are all alike is the first of them.
TEST(AlignSequences, AShorterRunIsTheBeginOfALongerOne) {
  Values pass(5'000);
  for (std::size_t i = 0; i < pass.size(); ++i) {
    pass[i] = i % 37;
  }
  Values passes;
  for (int i = 0; i < 3; ++i) {
    passes.insert(passes.end(), pass.begin(), pass.end());
  }

  const SequenceAlignment aligned = AlignSequences(pass, passes);

  ASSERT_EQ(aligned.pairs.size(), pass.size());
  EXPECT_EQ(aligned.pairs.back(), (IndexPair{4'999, 4'999}));
  EXPECT_FALSE(aligned.is_cut);
}

// The runs differ in the third launch, and the second goes on for 100,000 more.
TEST(AlignSequences, ALongRestCostsNoSearch) {
  Values first;
  for (std::uint64_t i = 0; i < 200; ++i) {
    first.push_back(i);
  }
  Values second = first;
  second[2] = 999;
  second.resize(100'200, 5'000);

  const SequenceAlignment aligned = AlignSequences(first, second);

  EXPECT_EQ(aligned.pairs.size(), 199U);
  EXPECT_FALSE(aligned.is_cut);
}

// 6,000 that are all different on each side would be 12,000 edits.
TEST(AlignSequences, RunsThatDifferTooMuchAreCut) {
  Values first{1, 2};
  Values second{1, 2};
  for (std::uint64_t i = 0; i < 6'000; ++i) {
    first.push_back(10 + 2 * i);
    second.push_back(11 + 2 * i);
  }

  const SequenceAlignment aligned = AlignSequences(first, second);

  EXPECT_EQ(aligned.pairs.size(), 2U);
  EXPECT_TRUE(aligned.is_cut);
}

RC_GTEST_PROP(AlignSequences, PairsAreEqualAndAscend, ()) {
  const auto few = rc::gen::inRange<std::uint64_t>(0, 4);
  const auto first = *rc::gen::container<Values>(few);
  const auto second = *rc::gen::container<Values>(few);
  const SequenceAlignment aligned = AlignSequences(first, second);
  for (std::size_t i = 0; i < aligned.pairs.size(); ++i) {
    const IndexPair& pair = aligned.pairs[i];
    RC_ASSERT(first[pair.first] == second[pair.second]);
    // In double parentheses: the macro evaluates both sides of an operator.
    RC_ASSERT((i == 0 || (aligned.pairs[i - 1].first < pair.first &&
                          aligned.pairs[i - 1].second < pair.second)));
  }
}

// The length of a longest common subsequence, by the table of all prefixes.
std::size_t LongestLength(const Values& first, const Values& second) {
  std::vector<std::vector<std::size_t>> best(first.size() + 1,
                                             std::vector<std::size_t>(second.size() + 1, 0));
  for (std::size_t i = 1; i <= first.size(); ++i) {
    for (std::size_t j = 1; j <= second.size(); ++j) {
      best[i][j] = first[i - 1] == second[j - 1] ? best[i - 1][j - 1] + 1
                                                 : std::max(best[i - 1][j], best[i][j - 1]);
    }
  }
  return best[first.size()][second.size()];
}

RC_GTEST_PROP(AlignSequences, NoLongerAlignmentExists, ()) {
  const auto few = rc::gen::inRange<std::uint64_t>(0, 4);
  const auto first = *rc::gen::container<Values>(few);
  const auto second = *rc::gen::container<Values>(few);
  RC_ASSERT(AlignSequences(first, second).pairs.size() == LongestLength(first, second));
}

// Tools spell template arguments and copies differently; a grid of another size is another launch.
TEST(MatchLaunches, NamesAreComparedWithoutTemplateArguments) {
  TestRun first;
  const RowId stream = first.Stream(0);
  first.Copy("Memcpy HtoD", 64, stream);
  first.Kernel("void add<float, 4>(float*)", 8, stream);
  first.Kernel("mul", 8, stream);
  first.Kernel("void add<int, 4>(int*)", 16, stream);
  TestRun second;
  const RowId other = second.Stream(7);
  second.Copy("Memcpy HtoD (Pageable -> Device)", 64, other);
  second.Kernel("add<float, (int)4>", 8, other);
  second.Kernel("add<int, (int)4>", 32, other);

  const LaunchMatch match = MatchLaunches(first.trace, second.trace);

  EXPECT_EQ(match.partners, (std::vector<RowId>{0, 1, kNoRow, kNoRow}));
  EXPECT_EQ(match.num_only_second, 1);
}

// The host asked for a and b in another order in the second run: on two streams nothing is lost.
TEST(MatchLaunches, StreamsAreAlignedEachOnItsOwn) {
  TestRun first;
  const RowId one = first.Stream(10);
  const RowId two = first.Stream(20);
  first.Kernel("a", 1, one);
  first.Kernel("b", 1, two);
  first.Kernel("a", 1, one);
  TestRun second;
  const RowId left = second.Stream(10);
  const RowId right = second.Stream(20);
  second.Kernel("b", 1, right);
  second.Kernel("a", 1, left);
  second.Kernel("a", 1, left);

  EXPECT_EQ(MatchLaunches(first.trace, second.trace).partners, (std::vector<RowId>{1, 0, 2}));
}

// Two streams with other numbers are paired in order of their first work.
TEST(MatchLaunches, StreamsWithOtherNumbersArePairedInOrder) {
  TestRun first;
  const RowId one = first.Stream(0);
  const RowId two = first.Stream(1071461968);
  first.Kernel("a", 1, one);
  first.Kernel("b", 1, two);
  TestRun second;
  const RowId left = second.Stream(7);
  const RowId right = second.Stream(13);
  second.Kernel("a", 1, left);
  second.Kernel("b", 1, right);

  EXPECT_EQ(MatchLaunches(first.trace, second.trace).partners, (std::vector<RowId>{0, 1}));
}

// One stream here, two there: the device is one sequence.
TEST(MatchLaunches, OtherNumbersOfStreamsMakeTheDeviceOneSequence) {
  TestRun first;
  const RowId one = first.Stream(0);
  first.Kernel("a", 1, one);
  first.Kernel("b", 1, one);
  TestRun second;
  const RowId left = second.Stream(7);
  const RowId right = second.Stream(13);
  second.Kernel("a", 1, left);
  second.Kernel("b", 1, right);

  EXPECT_EQ(MatchLaunches(first.trace, second.trace).partners, (std::vector<RowId>{0, 1}));
}

TEST(MatchLaunches, DevicesThatOneRunHasNotStayAlone) {
  TestRun first;
  first.Kernel("a", 1, first.Stream(0, 0));
  first.Kernel("a", 1, first.Stream(0, 1));
  TestRun second;
  second.Kernel("a", 1, second.Stream(0, 1));

  EXPECT_EQ(MatchLaunches(first.trace, second.trace).partners, (std::vector<RowId>{kNoRow, 0}));
}

// The recorder's numbers say in which order the host asked, whatever began first on the device.
TEST(MatchLaunches, TheOrderIsThatOfTheHost) {
  TestRun first;
  const RowId one = first.Stream(0);
  first.Kernel("a", 1, one);
  first.Kernel("b", 1, one);
  TestRun second;
  const RowId left = second.Stream(7);
  const RowId right = second.Stream(13);
  const RowId b = second.Kernel("b", 1, right);
  const RowId a = second.Kernel("a", 1, left);
  second.trace.observations.Append({.activity = a, .order = 1});
  second.trace.observations.Append({.activity = b, .order = 2});

  EXPECT_EQ(MatchLaunches(first.trace, second.trace).partners, (std::vector<RowId>{a, b}));
}

}  // namespace
}  // namespace orrery::memory
