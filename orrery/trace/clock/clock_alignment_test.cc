#include "orrery/trace/clock/clock_alignment.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/runs_test.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using test_runs::Call;
using test_runs::Draw;
using test_runs::Group;
using test_runs::MakeMeetings;
using test_runs::MakeRun;
using test_runs::RunShape;
using testing::Each;
using testing::ElementsAre;
using testing::Field;

constexpr std::int64_t kUs = 1'000;
constexpr std::int64_t kMs = 1'000'000;

std::vector<std::int64_t> OffsetsUs(const ClockAlignment& alignment) {
  std::vector<std::int64_t> offsets;
  for (const RankClock& rank : alignment.ranks) {
    offsets.push_back(rank.offset_ns / kUs);
  }
  return offsets;
}

ClockAlignment Estimate(const TraceSet& set, AlignClocks when = AlignClocks::kIfItMatters) {
  return EstimateClocks(set, MatchCollectives(set), when);
}

// Ends of four all-reduces of 10 µs, in µs.
TraceSet RunWithEnds(const std::vector<std::vector<std::int64_t>>& ends_us) {
  std::vector<std::vector<Call>> calls;
  for (const auto& of_rank : ends_us) {
    auto& to = calls.emplace_back();
    for (const std::int64_t end_us : of_rank) {
      to.push_back({.begin = end_us - 10, .duration = 10});
    }
  }
  return MakeRun({}, calls);
}

// Medians of the columns: 1000, 2000, 3000, 4000. Rank 1 is off by 12, 13, 11, 12, rank 2 by
// -5, -6, -5, -4; the deviations from the medians 12 and -5 are 0, 1, 1, 0: MAD 0.5.
const std::vector<std::vector<std::int64_t>> kExample{
    {1000, 2000, 3000, 4000}, {1012, 2013, 3011, 4012}, {995, 1994, 2995, 3996}};

TEST(ClockAlignmentTest, TheOffsetIsTheMedianDistanceFromTheMedianEnd) {
  const ClockAlignment alignment = Estimate(RunWithEnds(kExample));

  EXPECT_THAT(OffsetsUs(alignment), ElementsAre(0, 12, -5));
  EXPECT_EQ(alignment.ranks[1].deviation_ns, 500);
  EXPECT_EQ(alignment.ranks[1].num_records, 4);
  EXPECT_EQ(alignment.num_components, 1U);
}

TEST(ClockAlignmentTest, SmallOffsetsAreReportedAndNotApplied) {
  TraceSet set = RunWithEnds(kExample);

  const AlignedRun run = MatchAndAlign(set);

  EXPECT_FALSE(run.alignment.applies());
  EXPECT_EQ(set, RunWithEnds(kExample));
}

// Residuals after the correction are at most 1 µs.
TEST(ClockAlignmentTest, AlwaysAppliesThemAnyway) {
  TraceSet set = RunWithEnds(kExample);

  const AlignedRun run = MatchAndAlign(set, AlignClocks::kAlways);

  for (std::size_t instance = 0; instance < 4; ++instance) {
    EXPECT_LE(EndSpreadNs(run.matched, instance), 2 * kUs);
  }
  EXPECT_EQ(set.ranks[1].collectives.begin_ns[0], (1012 - 10 - 12) * kUs);
}

TEST(ClockAlignmentTest, NeverLeavesEvenLargeOffsets) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 5 * kMs, 0}});

  const AlignedRun run = MatchAndAlign(set, AlignClocks::kNever);

  EXPECT_EQ(run.alignment.ranks[1].offset_ns, 5 * kMs);
  EXPECT_FALSE(run.alignment.applies());
}

// Rank 1 is off by 30 µs with a scatter of 20: not above three times the scatter.
TEST(ClockAlignmentTest, AnOffsetWithinItsScatterIsNotApplied) {
  const ClockAlignment alignment = Estimate(RunWithEnds({{1000, 2000, 3000, 4000, 5000},
                                                         {1030, 2050, 3010, 4055, 5005},
                                                         {1000, 2000, 3000, 4000, 5000}}));

  EXPECT_EQ(alignment.ranks[1].offset_ns, 30 * kUs);
  EXPECT_EQ(alignment.ranks[1].deviation_ns, 20 * kUs);
  EXPECT_FALSE(alignment.ranks[1].apply);
}

// Ranks 0-3 on one host, 4-7 on another; the second clock is 6 ms ahead. The median end lies
// between the hosts, so one is at -3 ms and the other at +3 ms. The noise of ±5 µs is gone.
TEST(ClockAlignmentTest, TwoHostsComeTogether) {
  TraceSet set = MakeMeetings(
      {.offset_ns = {0, 0, 0, 0, 6 * kMs, 6 * kMs, 6 * kMs, 6 * kMs}, .noise_ns = 5 * kUs});
  for (std::size_t rank = 0; rank < 8; ++rank) {
    set.ranks[rank].info.host_name = rank < 4 ? "a" : "b";
  }

  const AlignedRun run = MatchAndAlign(set);

  EXPECT_THAT(run.alignment.ranks, Each(Field(&RankClock::apply, true)));
  for (std::size_t rank = 1; rank < 4; ++rank) {
    EXPECT_EQ(run.alignment.ranks[rank].offset_ns, run.alignment.ranks[0].offset_ns);
    EXPECT_EQ(run.alignment.ranks[4 + rank].offset_ns, run.alignment.ranks[4].offset_ns);
  }
  EXPECT_NEAR(static_cast<double>(run.alignment.ranks[0].offset_ns), -3e6, 5e3);
  EXPECT_NEAR(static_cast<double>(run.alignment.ranks[4].offset_ns), 3e6, 5e3);
  EXPECT_EQ(run.matched.size(), 50U);
  EXPECT_THAT(run.matched.instances.flags, Each(0));
  EXPECT_LE(run.matched.median_end_spread_ns, 15 * kUs);
}

TEST(ClockAlignmentTest, TheCardTellsTheHosts) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 0, 0, 0}});
  set.card.emplace();
  set.card->values["hardware.xpu_spec.count_per_node"] = "2";

  EXPECT_THAT(ClockOfRank(set), ElementsAre(0, 0, 1, 1));
}

// Times since the start of a recording have a zero of their own, on the same host or not.
TEST(ClockAlignmentTest, RecordingsThatCountFromTheirStartShareNoClock) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 0, 0}});
  for (Trace& trace : set.ranks) {
    trace.info.host_name = "a";
  }
  set.ranks[1].info.time_origin = TimeOrigin::kRecordingStart;

  EXPECT_THAT(ClockOfRank(set), ElementsAre(0, 1, 0));
}

// Groups {0,1} and {1,2} join three clocks in a chain: 0, +2 ms, -1 ms against the lowest rank.
TEST(ClockAlignmentTest, SeveralGroupsAreSolvedTogether) {
  const ClockAlignment alignment =
      Estimate(MakeMeetings({.offset_ns = {kMs, 3 * kMs, 0},
                             .groups = {{.name = "a", .ranks = "[0, 1]", .size = 2},
                                        {.name = "b", .ranks = "[1, 2]", .size = 2}},
                             .members = {{0, 1}, {1, 2}}}));

  EXPECT_EQ(alignment.num_components, 1U);
  EXPECT_THAT(OffsetsUs(alignment), ElementsAre(0, 2000, -1000));
  EXPECT_TRUE(alignment.ranks[1].apply);
  EXPECT_FALSE(alignment.ranks[0].apply);
}

// {0,1} and {2,3} never meet: nothing is known between them.
TEST(ClockAlignmentTest, ClocksThatNeverMeetAreSolvedApart) {
  const ClockAlignment alignment =
      Estimate(MakeMeetings({.offset_ns = {0, 2 * kMs, 0, 4 * kMs},
                             .groups = {{.name = "a", .ranks = "[0, 1]", .size = 2},
                                        {.name = "b", .ranks = "[2, 3]", .size = 2}},
                             .members = {{0, 1}, {2, 3}}}));

  EXPECT_EQ(alignment.num_components, 2U);
  EXPECT_EQ(alignment.ranks[2].component, 1U);
  EXPECT_THAT(OffsetsUs(alignment), ElementsAre(-1000, 1000, -2000, 2000));
}

// Two hosts of two ranks. The groups inside a host say nothing about the other; the groups across
// ({0,2}, {1,3}) do.
TEST(ClockAlignmentTest, GroupsInsideAHostDoNotBlurTheOffsetBetweenHosts) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 0, 7 * kMs, 7 * kMs},
                               .num_records = 200,
                               .noise_ns = 5 * kUs,
                               .groups = {{.name = "t", .ranks = "[0, 1]", .size = 2},
                                          {.name = "t", .ranks = "[2, 3]", .size = 2},
                                          {.name = "d", .ranks = "[0, 2]", .size = 2},
                                          {.name = "d", .ranks = "[1, 3]", .size = 2}},
                               .members = {{0, 1}, {2, 3}, {0, 2}, {1, 3}}});
  for (std::size_t rank = 0; rank < 4; ++rank) {
    set.ranks[rank].info.host_name = rank < 2 ? "a" : "b";
  }

  const ClockAlignment alignment = Estimate(set);

  EXPECT_EQ(alignment.ranks[0].offset_ns, 0);
  EXPECT_NEAR(static_cast<double>(alignment.ranks[2].offset_ns), 7e6, 3e3);
  EXPECT_EQ(alignment.ranks[2].offset_ns, alignment.ranks[3].offset_ns);
  EXPECT_LE(alignment.ranks[2].deviation_ns, 5e3);
  EXPECT_TRUE(alignment.ranks[2].apply);
}

// Moves each time t of a rank to t + rate * (t - first).
void AddDrift(Trace& trace, double rate) {
  const std::int64_t first_ns = trace.collectives.begin_ns.front();
  for (std::int64_t& begin_ns : trace.collectives.begin_ns) {
    begin_ns += std::llround(rate * static_cast<double>(begin_ns - first_ns));
  }
}

// Rank 2 gains 50 µs a second over about 15 s: 750 µs, far above noise. The correction brings the
// ends together again.
TEST(ClockAlignmentTest, ADriftIsFoundAndUndone) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 0, kMs},
                               .num_records = 100,
                               .noise_ns = 2 * kUs,
                               .interval_ns = 100 * kMs});
  AddDrift(set.ranks[2], 50e-6);

  const AlignedRun run = MatchAndAlign(set);

  EXPECT_NEAR(static_cast<double>(run.alignment.ranks[2].drift_ps_per_s), 50e6, 2e6);
  EXPECT_EQ(run.alignment.ranks[0].drift_ps_per_s, 0);
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    EXPECT_LE(EndSpreadNs(run.matched, instance), 20 * kUs);
  }
}

// The same in a chain of groups.
TEST(ClockAlignmentTest, ADriftIsFoundAlsoOverSeveralGroups) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 0, 2 * kMs},
                               .num_records = 100,
                               .noise_ns = 2 * kUs,
                               .interval_ns = 100 * kMs,
                               .groups = {{.name = "a", .ranks = "[0, 1]", .size = 2},
                                          {.name = "b", .ranks = "[1, 2]", .size = 2}},
                               .members = {{0, 1}, {1, 2}}});
  AddDrift(set.ranks[2], -40e-6);

  const AlignedRun run = MatchAndAlign(set);

  EXPECT_NEAR(static_cast<double>(run.alignment.ranks[2].drift_ps_per_s), -40e6, 2e6);
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    EXPECT_LE(EndSpreadNs(run.matched, instance), 20 * kUs);
  }
}

// Half a second is too short to tell a drift.
TEST(ClockAlignmentTest, AShortRunShowsNoDrift) {
  TraceSet set = MakeMeetings({.offset_ns = {0, 0, 0}, .num_records = 50, .interval_ns = 6 * kMs});
  AddDrift(set.ranks[2], 100e-6);

  EXPECT_EQ(Estimate(set).ranks[2].drift_ps_per_s, 0);
}

struct Unusable {
  std::string what;
  Call call;
};

class UnusableTest : public testing::TestWithParam<Unusable> {};

TEST_P(UnusableTest, IsNotComparedByClocks) {
  Call call = GetParam().call;
  call.group = 0;
  const Group group{.name = "0", .ranks = "[0, 1, 2]", .size = 3};

  const ClockAlignment alignment = Estimate(MakeRun({group}, {{call}, {call}, {call}}));

  EXPECT_EQ(alignment.ranks[0].num_records, 0);
  EXPECT_FALSE(alignment.problems.all().empty());
  EXPECT_EQ(alignment.num_components, 3U);
}

INSTANTIATE_TEST_SUITE_P(
    Records, UnusableTest,
    testing::Values(Unusable{"broadcast", {.kind = CollectiveKind::kBroadcast}},
                    Unusable{"long", {.duration = 10'000}}, Unusable{"host", {.num_kernels = 0}}),
    [](const auto& test) { return test.param.what; });

TEST(ClockAlignmentTest, IncompleteRecordsAreNotUsed) {
  const Group group{.name = "0", .ranks = "[0, 1, 2]", .size = 3};
  const std::vector<Call> calls{{.group = 0}};

  EXPECT_EQ(Estimate(MakeRun({group}, {calls, calls})).ranks[0].num_records, 0);
}

TEST(ClockAlignmentTest, AnEmptySetNeedsNothing) {
  TraceSet set;

  EXPECT_FALSE(MatchAndAlign(set).alignment.applies());
}

// Any offset on each rank comes back to within the noise, relative to the others; the medians of 60
// records are closer than that.
RC_GTEST_PROP(ClockAlignmentProperty, RandomOffsetsAreRecovered, ()) {
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  RunShape shape{
      .num_records = 60, .noise_ns = 5 * kUs, .seed = static_cast<std::uint32_t>(engine())};
  const auto num_ranks = *rc::gen::inRange<std::size_t>(2, 9);
  for (std::size_t rank = 0; rank < num_ranks; ++rank) {
    shape.offset_ns.push_back(Draw(engine, 6 * kMs) - 3 * kMs);
  }
  TraceSet set = MakeMeetings(shape);

  const AlignedRun run = MatchAndAlign(set, AlignClocks::kAlways);

  RC_ASSERT(run.matched.size() == 60U);
  for (std::size_t rank = 1; rank < num_ranks; ++rank) {
    const std::int64_t found =
        run.alignment.ranks[rank].offset_ns - run.alignment.ranks[0].offset_ns;
    RC_ASSERT(std::abs(found - (shape.offset_ns[rank] - shape.offset_ns[0])) <= 10 * kUs);
  }
}

// Without noise one rank's shift is undone exactly, and a common shift changes nothing.
RC_GTEST_PROP(ClockAlignmentProperty, AShiftOfAllRanksChangesNothing, ()) {
  std::mt19937 engine(*rc::gen::arbitrary<std::uint32_t>());
  const auto seed = static_cast<std::uint32_t>(engine());
  const std::int64_t shift_ns = Draw(engine, 1'000'000 * kMs);
  const auto set = MakeMeetings({.offset_ns = {0, 5 * kMs, 0}, .noise_ns = kUs, .seed = seed});
  const auto shifted = MakeMeetings(
      {.offset_ns = {shift_ns, shift_ns + 5 * kMs, shift_ns}, .noise_ns = kUs, .seed = seed});

  RC_ASSERT(OffsetsUs(Estimate(set)) == OffsetsUs(Estimate(shifted)));
}

}  // namespace
}  // namespace orrery::trace
