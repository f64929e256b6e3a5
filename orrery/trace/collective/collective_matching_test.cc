#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/runs_test.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using test_runs::AddCall;
using test_runs::AddGroup;
using test_runs::Call;
using test_runs::Group;
using test_runs::MakeRun;

using testing::Each;
using testing::ElementsAre;
using enum CollectiveKind;

// The rows of an instance's members as (rank index, row).
std::vector<std::pair<std::uint32_t, RowId>> Members(const MatchedCollectives& matched,
                                                     std::size_t instance) {
  std::vector<std::pair<std::uint32_t, RowId>> members;
  for (const std::uint32_t member : matched.MembersOf(instance)) {
    members.emplace_back(matched.members.rank_index[member], matched.members.collective[member]);
  }
  return members;
}

auto MembersAre(const std::vector<std::pair<std::uint32_t, RowId>>& members) {
  return testing::ElementsAreArray(members);
}

const Group kPairOfRanks{.name = "0", .ranks = "[0, 1]", .size = 2};

// Rank 1 missed number 7 and recorded one more at the end.
TEST(CollectiveMatchingTest, SequenceNumbersFindCounterpartsWhereverProfilesBegin) {
  const TraceSet set = MakeRun({kPairOfRanks}, {{{.begin = 0, .group = 0, .sequence = 7},
                                                 {.begin = 100, .group = 0, .sequence = 8},
                                                 {.begin = 200, .group = 0, .sequence = 9}},
                                                {{.begin = 100, .group = 0, .sequence = 8},
                                                 {.begin = 200, .group = 0, .sequence = 9},
                                                 {.begin = 300, .group = 0, .sequence = 10}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(matched.instances.rule, Each(MatchRule::kSequenceNumber));
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 1}, {1, 0}}));
  EXPECT_THAT(Members(matched, 1), MembersAre({{0, 2}, {1, 1}}));
  EXPECT_EQ(matched.ranks[0].num_unmatched, 1);
  EXPECT_EQ(matched.ranks[1].num_unmatched, 1);
  EXPECT_THAT(matched.ranks[1].instance_of_row, ElementsAre(0, 1, kNoRow));
  EXPECT_TRUE(matched.problems.has_loss());
}

TEST(CollectiveMatchingTest, CommsIdsAreUsedWhereARankHasNoSequenceNumbers) {
  const TraceSet set = MakeRun(
      {kPairOfRanks}, {{{.begin = 0, .group = 0, .sequence = 1, .comms_id = 0xF000000000000001},
                        {.begin = 100, .group = 0, .sequence = 2, .comms_id = 5}},
                       {{.begin = 100, .group = 0, .comms_id = 5}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.rule[0], MatchRule::kCommsId);
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 1}, {1, 0}}));
}

// All numbers are 0: they do not tell the calls apart, so the order decides.
TEST(CollectiveMatchingTest, RepeatedSequenceNumbersAreNoNumbers) {
  const std::vector<Call> calls{{.begin = 0, .group = 0, .sequence = 0},
                                {.begin = 100, .group = 0, .sequence = 0}};
  const MatchedCollectives matched = MatchCollectives(MakeRun({kPairOfRanks}, {calls, calls}));

  EXPECT_EQ(matched.size(), 2U);
  EXPECT_THAT(matched.instances.rule, Each(MatchRule::kGroupPosition));
}

// The sizes differ from call to call; rank 1 began one collective later.
TEST(CollectiveMatchingTest, PositionInTheGroupAllowsForALateStart) {
  const TraceSet set = MakeRun({kPairOfRanks}, {{{.begin = 0, .group = 0, .bytes = 1},
                                                 {.begin = 100, .group = 0, .bytes = 2},
                                                 {.begin = 200, .group = 0, .bytes = 3},
                                                 {.begin = 300, .group = 0, .bytes = 4}},
                                                {{.begin = 100, .group = 0, .bytes = 2},
                                                 {.begin = 200, .group = 0, .bytes = 3},
                                                 {.begin = 300, .group = 0, .bytes = 4}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 3U);
  EXPECT_THAT(matched.instances.rule, Each(MatchRule::kGroupPosition));
  EXPECT_THAT(matched.instances.flags, Each(0));
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 1}, {1, 0}}));
  EXPECT_THAT(matched.instances.bytes, ElementsAre(2, 3, 4));
  EXPECT_EQ(matched.ranks[0].num_unmatched, 1);
}

TEST(CollectiveMatchingTest, WithoutGroupsThePlaceOnTheStreamDecides) {
  TraceSet set = MakeRun({}, {{{.begin = 0, .track = 0}, {.begin = 100, .track = 0}},
                              {{.begin = 5, .track = 0}, {.begin = 90, .track = 0}}});
  for (Trace& trace : set.ranks) {
    trace.tracks.Append({.kind = TrackKind::kDevice, .thread = 24});
  }

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(matched.instances.rule, Each(MatchRule::kStreamPosition));
  EXPECT_THAT(matched.instances.flags, Each(0));
  EXPECT_EQ(matched.groups[matched.instances.group[0]].key,
            "unnamed group of unknown size, collectives, stream 24");
}

// Streams 7 and 9 on both ranks, first used in different order: numbers tell them apart.
TEST(CollectiveMatchingTest, StreamsOfEqualNumberBelongTogether) {
  TraceSet set = MakeRun({}, {{{.begin = 0, .track = 0}, {.begin = 1, .track = 1}},
                              {{.begin = 0, .track = 1}, {.begin = 1, .track = 0}}});
  for (Trace& trace : set.ranks) {
    trace.tracks.Append({.kind = TrackKind::kDevice, .thread = 7});
    trace.tracks.Append({.kind = TrackKind::kDevice, .thread = 9});
  }

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 0}, {1, 1}}));
  EXPECT_THAT(Members(matched, 1), MembersAre({{0, 1}, {1, 0}}));
}

// Streams 7 and 9 here, 17 and 19 there: the first used belongs to the first used.
TEST(CollectiveMatchingTest, StreamsOfDifferentNumbersBelongTogetherInOrderOfUse) {
  TraceSet set = MakeRun({}, {{{.begin = 0, .track = 0}, {.begin = 100, .track = 1}},
                              {{.begin = 0, .track = 1}, {.begin = 100, .track = 0}}});
  set.ranks[0].tracks.Append({.kind = TrackKind::kDevice, .thread = 7});
  set.ranks[0].tracks.Append({.kind = TrackKind::kDevice, .thread = 9});
  set.ranks[1].tracks.Append({.kind = TrackKind::kDevice, .thread = 17});
  set.ranks[1].tracks.Append({.kind = TrackKind::kDevice, .thread = 19});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 0}, {1, 0}}));
  EXPECT_THAT(Members(matched, 1), MembersAre({{0, 1}, {1, 1}}));
}

// Rank 1 lost the third of seven: no shift agrees, the sizes do.
TEST(CollectiveMatchingTest, AMissingCollectiveIsBridgedBySubsequence) {
  std::vector<Call> all;
  for (std::int64_t i = 0; i < 7; ++i) {
    all.push_back({.begin = 100 * i, .group = 0, .bytes = 1 + i});
  }
  std::vector<Call> some = all;
  some.erase(some.begin() + 2);

  const MatchedCollectives matched = MatchCollectives(MakeRun({kPairOfRanks}, {all, some}));

  ASSERT_EQ(matched.size(), 6U);
  EXPECT_THAT(matched.instances.rule, Each(MatchRule::kSubsequence));
  EXPECT_THAT(Members(matched, 2), MembersAre({{0, 3}, {1, 2}}));
  EXPECT_EQ(matched.ranks[0].num_unmatched, 1);
  EXPECT_EQ(matched.ranks[1].num_unmatched, 0);
}

// Rank 0 sends two messages to 1 and one to 2; the receives come in another order.
TEST(CollectiveMatchingTest, TheKthSendBelongsToTheKthReceive) {
  const Group world{.name = "0", .ranks = "[0, 1, 2]", .size = 3};
  const TraceSet set = MakeRun(
      {world}, {{{.begin = 0, .kind = kSend, .group = 0, .bytes = 8, .sequence = 1, .peer = 1},
                 {.begin = 100, .kind = kSend, .group = 0, .bytes = 9, .sequence = 2, .peer = 2},
                 {.begin = 200, .kind = kSend, .group = 0, .bytes = 7, .sequence = 3, .peer = 1}},
                {{.begin = 0, .kind = kRecv, .group = 0, .bytes = 8, .sequence = 1, .peer = 0},
                 {.begin = 200, .kind = kRecv, .group = 0, .bytes = 7, .sequence = 2, .peer = 0}},
                {{.begin = 100, .kind = kRecv, .group = 0, .bytes = 9, .sequence = 1, .peer = 0}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 3U);
  EXPECT_THAT(matched.instances.rule, Each(MatchRule::kPeerOrder));
  EXPECT_THAT(matched.instances.kind, Each(kSend));
  EXPECT_THAT(matched.instances.flags, Each(0));
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 0}, {1, 0}}));
  EXPECT_THAT(Members(matched, 1), MembersAre({{0, 1}, {2, 0}}));
  EXPECT_THAT(Members(matched, 2), MembersAre({{0, 2}, {1, 1}}));
}

TEST(CollectiveMatchingTest, TheSenderComesFirstAlsoWhenItsRankIsHigher) {
  const TraceSet set =
      MakeRun({kPairOfRanks}, {{{.begin = 0, .kind = kRecv, .group = 0, .peer = 1}},
                               {{.begin = 0, .kind = kSend, .group = 0, .peer = 0}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_THAT(Members(matched, 0), MembersAre({{1, 0}, {0, 0}}));
}

// The group is [4, 6]; a peer of 1 on rank 4 is no member, so peers are places: 6 is meant.
TEST(CollectiveMatchingTest, PeersMayBePlacesInTheGroup) {
  TraceSet set = MakeRun({{.name = "pp", .ranks = "[4, 6]", .size = 2}},
                         {{{.begin = 0, .kind = kSend, .group = 0, .peer = 1}},
                          {{.begin = 0, .kind = kRecv, .group = 0, .peer = 0}}});
  set.ranks[0].info.rank = 4;
  set.ranks[1].info.rank = 6;

  EXPECT_EQ(MatchCollectives(set).size(), 1U);
}

// One kernel for two sends to the same peer; the peer received them one after the other.
TEST(CollectiveMatchingTest, BatchedSendsStaySeparate) {
  const TraceSet set =
      MakeRun({kPairOfRanks}, {{{.begin = 0, .kind = kSend, .group = 0, .bytes = 8, .peer = 1},
                                {.begin = 0, .kind = kSend, .group = 0, .bytes = 9, .peer = 1}},
                               {{.begin = 0, .kind = kRecv, .group = 0, .bytes = 8, .peer = 0},
                                {.begin = 20, .kind = kRecv, .group = 0, .bytes = 9, .peer = 0}}});

  EXPECT_EQ(MatchCollectives(set).size(), 2U);
}

TEST(CollectiveMatchingTest, ExchangesWithoutPeersMatchAsCollectives) {
  const TraceSet set = MakeRun({kPairOfRanks}, {{{.begin = 0, .kind = kSend, .group = 0}},
                                                {{.begin = 0, .kind = kSendRecv, .group = 0}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.kind[0], kSendRecv);
  EXPECT_EQ(matched.instances.flags[0], 0);
}

// Ranks 0 and 1 form one group "1", ranks 2 and 3 another of the same name.
TEST(CollectiveMatchingTest, GroupsThatShareANameAreToldApartByTheirMembers) {
  TraceSet set = MakeRun({}, {{}, {}, {}, {}});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    Trace& trace = set.ranks[rank];
    const RowId group =
        AddGroup(trace, {.name = "1", .ranks = rank < 2 ? "[0, 1]" : "[2,3]", .size = 2});
    AddCall(trace, {.begin = 0, .group = group, .sequence = 1});
  }

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 0}, {1, 0}}));
  EXPECT_THAT(Members(matched, 1), MembersAre({{2, 0}, {3, 0}}));
  EXPECT_THAT(matched.instances.flags, Each(0));
}

// Spaces inside the list differ; the numbers do not.
TEST(CollectiveMatchingTest, ListsOfRanksAreComparedByNumber) {
  TraceSet set = MakeRun({}, {{}, {}});
  AddCall(set.ranks[0], {.group = AddGroup(set.ranks[0], {.name = "0", .ranks = "[0, 1]"})});
  AddCall(set.ranks[1], {.group = AddGroup(set.ranks[1], {.name = "0", .ranks = "[0,1]"})});

  EXPECT_EQ(MatchCollectives(set).size(), 1U);
}

// Cut lists of 64 and of 72 ranks begin and end alike: size is part of the key.
TEST(CollectiveMatchingTest, ACutListNeedsTheSize) {
  TraceSet set = MakeRun({}, {{}, {}, {}});
  const auto add = [&](std::size_t rank, std::int32_t size) {
    Trace& trace = set.ranks[rank];
    AddCall(trace,
            {.group = AddGroup(
                 trace, {.name = "0", .ranks = "[0, 1, 2, ..., 63]", .size = size, .cut = true})});
  };
  add(0, 64);
  add(1, 64);
  add(2, 72);

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 0}, {1, 0}}));
  EXPECT_EQ(matched.instances.flags[0], match_flag::kIncomplete);
  EXPECT_EQ(matched.ranks[2].num_unmatched, 1);
}

// Without lists, first rank and stride tell the two tensor-parallel groups apart.
TEST(CollectiveMatchingTest, WithoutAListTheRangeOfRanksIsTheKey) {
  TraceSet set = MakeRun({}, {{}, {}, {}, {}});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    Trace& trace = set.ranks[rank];
    const RowId group = AddGroup(
        trace, {.description = "mesh_tp", .size = 2, .start = rank < 2 ? 0 : 2, .stride = 1});
    AddCall(trace, {.begin = 0, .group = group});
  }

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(matched.groups[matched.instances.group[1]].members, ElementsAre(2, 3));
}

TEST(CollectiveMatchingTest, ACommunicatorIsAKey) {
  const Group group{.name = "", .ranks = "", .size = 2, .communicator = 0xABCD};

  const MatchedCollectives matched =
      MatchCollectives(MakeRun({group}, {{{.group = 0}}, {{.group = 0}}}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.groups[matched.instances.group[0]].key, "communicator 0xabcd");
  EXPECT_EQ(matched.instances.rule[0], MatchRule::kGroupPosition);
}

// Old files write the address of an object in the process, which other ranks do not have: streams
// and sizes tell the groups apart.
TEST(CollectiveMatchingTest, ACommunicatorThatIsAnAddressIsNoKey) {
  TraceSet set = MakeRun({}, {{}, {}, {}});
  for (std::size_t rank = 0; rank < 3; ++rank) {
    Trace& trace = set.ranks[rank];
    const RowId group = AddGroup(trace, {.size = 3, .communicator = 0x5555'0000 + rank});
    AddCall(trace, {.begin = 0, .group = group});
  }

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.num_members[0], 3U);
  EXPECT_EQ(matched.instances.rule[0], MatchRule::kStreamPosition);
  EXPECT_EQ(matched.instances.flags[0], 0);
}

// Three of four ranks were recorded: the record is usable and says so.
TEST(CollectiveMatchingTest, MissingRanksLeaveAnIncompleteRecord) {
  const Group world{.name = "0", .ranks = "[0, 1, 2, 3]", .size = 4};
  const std::vector<Call> calls{{.group = 0, .sequence = 1}};

  const MatchedCollectives matched = MatchCollectives(MakeRun({world}, {calls, calls, calls}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.flags[0], match_flag::kIncomplete);
  EXPECT_FALSE(matched.Has(0, match_flag::kUnreliable));
}

TEST(CollectiveMatchingTest, OneRankAloneHasNoCounterparts) {
  const MatchedCollectives matched =
      MatchCollectives(MakeRun({kPairOfRanks}, {{{.group = 0, .sequence = 1}}}));

  EXPECT_EQ(matched.size(), 0U);
  EXPECT_EQ(matched.ranks[0].num_unmatched, 1);
}

TEST(CollectiveMatchingTest, AnEmptySetHasNoCollectives) {
  EXPECT_EQ(MatchCollectives(TraceSet{}).size(), 0U);
}

// As in Megatron: 84 calls with kernels and one of a group of one rank, without.
TEST(CollectiveMatchingTest, CallsWithoutKernelsAreLeftOutAndCounted) {
  const std::vector<Call> calls{{.begin = 0, .group = 0},
                                {.begin = 50, .group = 0, .num_kernels = 0},
                                {.begin = 60, .group = 1, .num_kernels = 0},
                                {.begin = 100, .group = 0}};
  const Group alone{.name = "2", .ranks = "", .size = 1};

  const MatchedCollectives matched =
      MatchCollectives(MakeRun({kPairOfRanks, alone}, {calls, calls}));

  EXPECT_EQ(matched.size(), 2U);
  EXPECT_EQ(matched.ranks[0].num_without_kernels, 1);
  EXPECT_EQ(matched.ranks[0].num_in_groups_of_one, 1);
  EXPECT_EQ(matched.ranks[0].num_unmatched, 0);
}

TEST(CollectiveMatchingTest, CallsAreMatchedWhereNoKernelsWereRecorded) {
  const std::vector<Call> calls{{.begin = 0, .group = 0, .num_kernels = 0}};

  const MatchedCollectives matched = MatchCollectives(MakeRun({kPairOfRanks}, {calls, calls}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.flags[0], match_flag::kHostTimes);
}

struct Doubt {
  Call there;
  std::uint8_t flag;
};

class FlagTest : public testing::TestWithParam<Doubt> {};

// Rank 0 has an all-reduce of 8 bytes of Float; rank 1 says something else under the same number.
TEST_P(FlagTest, AContradictionKeepsTheRecordAndFlagsIt) {
  const Call here{.group = 0, .bytes = 8, .sequence = 1};

  const MatchedCollectives matched =
      MatchCollectives(MakeRun({kPairOfRanks}, {{here}, {GetParam().there}}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.flags[0], GetParam().flag);
  EXPECT_EQ(matched.Has(0, match_flag::kUnreliable), GetParam().flag != 0);
}

INSTANTIATE_TEST_SUITE_P(
    Flags, FlagTest,
    testing::Values(
        Doubt{{.group = 0, .bytes = 8, .sequence = 1}, 0},
        Doubt{{.kind = kReduce, .group = 0, .bytes = 8, .sequence = 1}, match_flag::kKindMismatch},
        Doubt{{.group = 0, .bytes = 9, .sequence = 1}, match_flag::kSizeMismatch},
        Doubt{{.group = 0, .bytes = 8, .sequence = 1, .type = DataType::kFp16},
              match_flag::kTypeMismatch},
        // Values that a file does not give contradict nothing.
        Doubt{{.kind = kUnknown, .group = 0, .sequence = 1, .type = DataType::kUnknown}, 0},
        // The run's only spread is 1,001 µs, so the limit is five times that.
        Doubt{{.begin = 1001, .group = 0, .bytes = 8, .sequence = 1}, 0}));

// Spreads 0, 0, 1,001 µs: the median is 0, so the limit is 1 ms.
TEST(CollectiveMatchingTest, EndsFarApartAreFlagged) {
  const auto calls = [](std::int64_t last_begin) {
    return std::vector<Call>{{.begin = 0, .group = 0, .sequence = 1},
                             {.begin = 5000, .group = 0, .sequence = 2},
                             {.begin = last_begin, .group = 0, .sequence = 3}};
  };

  const MatchedCollectives matched =
      MatchCollectives(MakeRun({kPairOfRanks}, {calls(10'000), calls(11'001)}));

  EXPECT_EQ(matched.spread_limit_ns, 1'000'000);
  EXPECT_THAT(matched.instances.flags, ElementsAre(0, 0, match_flag::kSpreadTooLarge));
}

// Sizes of all-to-all differ from rank to rank by nature.
TEST(CollectiveMatchingTest, UnevenAllToAllIsNoContradiction) {
  const MatchedCollectives matched =
      MatchCollectives(MakeRun({kPairOfRanks}, {{{.kind = kAllToAll, .group = 0, .bytes = 8}},
                                                {{.kind = kAllToAll, .group = 0, .bytes = 24}}}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.flags[0], 0);
  EXPECT_EQ(matched.instances.bytes[0], 24);
}

// Equal periodic collectives, clocks apart by half a period: both ways fit.
TEST(CollectiveMatchingTest, AnUndecidableShiftIsFlaggedAmbiguous) {
  std::vector<Call> here;
  std::vector<Call> there;
  for (std::int64_t i = 0; i < 5; ++i) {
    here.push_back({.begin = 10'000 * i, .group = 0});
    there.push_back({.begin = 10'000 * i + 5'000, .group = 0});
  }
  there.pop_back();

  const MatchedCollectives matched = MatchCollectives(MakeRun({kPairOfRanks}, {here, there}));

  ASSERT_EQ(matched.size(), 4U);
  EXPECT_THAT(matched.instances.flags, Each(match_flag::kAmbiguous));
}

// The same with step markers: step 3 begins before event 2 here and before event 1 there.
TEST(CollectiveMatchingTest, StepMarkersTellTheShift) {
  std::vector<Call> here;
  std::vector<Call> there;
  for (std::int64_t i = 0; i < 5; ++i) {
    here.push_back({.begin = 10'000 * i, .group = 0});
    there.push_back({.begin = 10'000 * i + 5'000, .group = 0});
  }
  there.pop_back();
  TraceSet set = MakeRun({kPairOfRanks}, {here, there});
  set.ranks[0].steps.Append({.begin_ns = 19'000'000, .duration_ns = 1, .number = 3});
  set.ranks[1].steps.Append({.begin_ns = 14'000'000, .duration_ns = 1, .number = 3});

  const MatchedCollectives matched = MatchCollectives(set);

  EXPECT_THAT(matched.instances.flags, Each(0));
  EXPECT_THAT(Members(matched, 0), MembersAre({{0, 1}, {1, 0}}));
}

// Three ranks share a description without a range of ranks, and the group has two.
TEST(CollectiveMatchingTest, MoreMembersThanTheGroupHasRanksAreAmbiguous) {
  const Group group{.name = "", .ranks = "", .description = "undefined", .size = 2};
  const std::vector<Call> calls{{.group = 0}};

  const MatchedCollectives matched = MatchCollectives(MakeRun({group}, {calls, calls, calls}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(matched.instances.flags[0], match_flag::kAmbiguous);
}

// Rank 0: two calls of 8 and 16 bytes that one kernel served. Rank 1 names the sum.
TEST(CollectiveMatchingTest, CoalescedCallsCountAsOneWithTheSumOfSizes) {
  const TraceSet set =
      MakeRun({kPairOfRanks},
              {{{.begin = 0, .group = 0, .bytes = 8},
                {.begin = 0, .group = 0, .bytes = 16},
                {.begin = 100, .group = 0, .bytes = 3}},
               {{.begin = 0, .group = 0, .bytes = 24}, {.begin = 100, .group = 0, .bytes = 3}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 2U);
  EXPECT_THAT(matched.instances.bytes, ElementsAre(24, 3));
  EXPECT_THAT(matched.instances.flags, Each(0));
  EXPECT_THAT(matched.ranks[0].instance_of_row, ElementsAre(0, 0, 1));
  EXPECT_EQ(matched.ranks[0].num_matched, 3);
}

// One sequence number for overlapping kernels of one coalesced call.
TEST(CollectiveMatchingTest, OverlappingKernelsOfOneNumberAreOneCall) {
  const TraceSet set = MakeRun(
      {kPairOfRanks}, {{{.begin = 0, .duration = 10, .group = 0, .bytes = 8, .sequence = 4},
                        {.begin = 5, .duration = 20, .group = 0, .bytes = 8, .sequence = 4}},
                       {{.begin = 0, .duration = 25, .group = 0, .bytes = 16, .sequence = 4}}});

  const MatchedCollectives matched = MatchCollectives(set);

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_THAT(matched.members.end_ns, ElementsAre(25'000, 25'000));
  EXPECT_EQ(matched.instances.flags[0], 0);
}

// Example: all-reduce of three ranks, begins 100, 130, 190, ends 240, 241, 239. The last arrival is
// 190 (rank 2), waits 90, 60, 0, the shortest duration 49, the spread of ends 2.
TEST(CollectiveMatchingTest, WaitsFollowFromTheLastArrival) {
  const Group world{.name = "0", .ranks = "[0, 1, 2]", .size = 3};
  const MatchedCollectives matched =
      MatchCollectives(MakeRun({world}, {{{.begin = 100, .duration = 140, .group = 0}},
                                         {{.begin = 130, .duration = 111, .group = 0}},
                                         {{.begin = 190, .duration = 49, .group = 0}}}));

  ASSERT_EQ(matched.size(), 1U);
  EXPECT_EQ(LastArrivalNs(matched, 0), 190'000);
  EXPECT_EQ(LastMember(matched, 0), 2U);
  EXPECT_EQ(WaitNs(matched, 0, 0), 90'000);
  EXPECT_EQ(WaitNs(matched, 0, 1), 60'000);
  EXPECT_EQ(WaitNs(matched, 0, 2), 0);
  EXPECT_EQ(MinDurationNs(matched, 0), 49'000);
  EXPECT_EQ(EndSpreadNs(matched, 0), 2'000);
}

}  // namespace
}  // namespace orrery::trace
