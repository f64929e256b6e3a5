#include "orrery/analyze/diff/paired_collectives.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::diff {
namespace {

using test_run::Rank;
using test_run::Span;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::SizeIs;

struct Call {
  std::vector<std::int64_t> begins;  // of each rank of the group
  std::int64_t end = 0;
  std::int64_t bytes = 1 << 20;
  CollectiveKind kind = CollectiveKind::kAllReduce;
};

// Ranks `first` and `first + 1` with steps of 100 us, and these collectives over both.
void AddTwoRanks(int first, int num_steps, const std::vector<Call>& calls, trace::TraceSet& set) {
  for (int number = 0; number < 2; ++number) {
    Rank rank(first + number);
    for (std::int64_t step = 0; step < num_steps; ++step) {
      rank.Step(step, {step * 100, step * 100 + 100});
    }
    const std::string ranks = "[" + std::to_string(first) + ", " + std::to_string(first + 1) + "]";
    const RowId group = rank.Group(std::to_string(first), ranks, 2);
    std::int64_t sequence = 0;
    for (const Call& call : calls) {
      rank.Collective({.kind = call.kind,
                       .span = Span{call.begins[static_cast<std::size_t>(number)], call.end},
                       .group = group,
                       .bytes = call.bytes,
                       .sequence = ++sequence});
    }
    set.ranks.push_back(rank.Finish());
  }
}

trace::TraceSet TwoRanks(int num_steps, const std::vector<Call>& calls) {
  trace::TraceSet set;
  AddTwoRanks(0, num_steps, calls, set);
  return set;
}

PairedCollectives Paired(trace::TraceSet before, trace::TraceSet after) {
  const RunView first = ViewRun(before, {}, {.align = trace::AlignClocks::kNever});
  const RunView second = ViewRun(after, {}, {.align = trace::AlignClocks::kNever});
  return PairCollectives(first, second);
}

TEST(PairedCollectivesTest, TheKthOfAStepIsPairedWithTheKthOfThatStep) {
  // Before: one in step 0, two in step 1. After: two in step 0, of which the second has no partner
  // (its step has one before), and one in step 1, which is the first of two.
  const PairedCollectives paired =
      Paired(TwoRanks(2, {{{10, 20}, 50}, {{110, 110}, 120}, {{130, 130}, 150}}),
             TwoRanks(2, {{{30, 32}, 60}, {{70, 70}, 80}, {{115, 117}, 121}}));
  EXPECT_THAT(paired.pairs, ElementsAre(CollectivePair{0, 0}, CollectivePair{1, 2}));
  // 10 to 50 and 20 to 50: rank 0 waits for 10, the transfer takes 30. After: 2 and 28.
  EXPECT_EQ(paired.before[0].wait_ns, 10'000);
  EXPECT_EQ(paired.before[0].transfer_ns, 30'000);
  EXPECT_EQ(paired.after[0].wait_ns, 2'000);
  EXPECT_EQ(paired.after[0].transfer_ns, 28'000);
  EXPECT_EQ(paired.before[1].step, 1);
  EXPECT_EQ(paired.before[0].num_ranks, 2);
}

TEST(PairedCollectivesTest, KindAndSizeMustBeEqual) {
  const PairedCollectives paired = Paired(
      TwoRanks(1, {{{10, 10}, 20, 1 << 20}, {{30, 30}, 40, 1 << 10}}),
      TwoRanks(1, {{{10, 10}, 20, 1 << 20, CollectiveKind::kBroadcast}, {{30, 30}, 40, 1 << 11}}));
  EXPECT_THAT(paired.pairs, IsEmpty());
  EXPECT_TRUE(paired.HasNothingInCommon());
  EXPECT_EQ(NothingInCommonSentence("a", "b"),
            "no collective of b has a partner in a: aligned by steps only");
}

TEST(PairedCollectivesTest, ARunWithoutCollectivesHasNothingToMiss) {
  const PairedCollectives paired = Paired(TwoRanks(1, {{{10, 10}, 20}}), TwoRanks(1, {}));
  EXPECT_FALSE(paired.HasNothingInCommon());
}

TEST(PairedCollectivesTest, GroupsThatCommunicateAtATimeFindThemselves) {
  trace::TraceSet before;
  AddTwoRanks(0, 1, {{{10, 10}, 20}}, before);
  AddTwoRanks(2, 1, {{{11, 11}, 21}}, before);
  trace::TraceSet after;
  AddTwoRanks(0, 1, {{{15, 15}, 20}}, after);
  AddTwoRanks(2, 1, {{{12, 12}, 21}}, after);
  // Ranks 2 and 3 are second before and first after.
  const PairedCollectives paired = Paired(std::move(before), std::move(after));
  EXPECT_THAT(paired.pairs, ElementsAre(CollectivePair{0, 1}, CollectivePair{1, 0}));
}

TEST(PairedCollectivesTest, OtherRanksArePartnersWhereTheSameOnesAreNotThere) {
  trace::TraceSet after;
  AddTwoRanks(4, 1, {{{15, 15}, 20}}, after);
  const PairedCollectives paired = Paired(TwoRanks(1, {{{10, 10}, 20}}), std::move(after));
  EXPECT_THAT(paired.pairs, ElementsAre(CollectivePair{0, 0}));
}

TEST(PairedCollectivesTest, WithoutStepsAllIsOne) {
  const PairedCollectives paired = Paired(TwoRanks(0, {{{10, 10}, 20}, {{130, 130}, 150}}),
                                          TwoRanks(2, {{{30, 32}, 60}, {{115, 117}, 121}}));
  EXPECT_THAT(paired.pairs, ElementsAre(CollectivePair{0, 0}, CollectivePair{1, 1}));
}

// A rank of a group of eight whose peers were not recorded; its collective runs in the time of the
// second step, but was launched in the first.
trace::TraceSet OneOfEight(std::int64_t begin, std::int64_t end) {
  Rank rank(0);
  rank.Step(0, {0, 100}).Step(1, {100, 200});
  const RowId group = rank.Group("0", "[0, 1, 2, 3, 4, 5, 6, 7]", 8);
  rank.Collective(
      {.span = {begin, end}, .group = group, .bytes = 1 << 20, .correlation = rank.Call({50, 52})});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return set;
}

TEST(PairedCollectivesTest, ARankAloneHasCollectivesToo) {
  const PairedCollectives paired = Paired(OneOfEight(120, 150), OneOfEight(60, 80));
  ASSERT_THAT(paired.pairs, SizeIs(1));
  EXPECT_EQ(paired.before[0].step, 0);
  EXPECT_EQ(paired.before[0].num_ranks, 8);
  EXPECT_EQ(paired.before[0].transfer_ns, 30'000);
  EXPECT_EQ(paired.after[0].transfer_ns, 20'000);
}

}  // namespace
}  // namespace orrery::analyze::diff
