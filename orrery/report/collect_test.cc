#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/analyze/step_time.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/report/document.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::report {
namespace {

using analyze::test_run::Rank;
using ::testing::Contains;
using ::testing::ElementsAre;
using ::testing::Field;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::SizeIs;

constexpr std::int64_t kMicrosecond = 1'000;

struct Sizes {
  std::int64_t arrival = 0;
  std::int64_t end = 0;
};

// Compute from 0, an all-reduce of 1 MB from `arrival` to `end`, compute until 300.
trace::Trace RankWithCollective(std::int32_t number, Sizes sizes) {
  Rank rank(number);
  const RowId group = rank.Group("0", "[0,1,2]", 3);
  rank.Kernel("gemm", {0, 80});
  rank.Collective(
      {.span = {sizes.arrival, sizes.end}, .group = group, .bytes = 1'000'000, .sequence = 1});
  rank.Kernel("gemm", {250, 300});
  return rank.Finish();
}

// Example B of the notes on waits: s = 100, 130, 190; e = 240, 241, 239.
trace::TraceSet ThreeRanks() {
  trace::TraceSet set;
  set.ranks.push_back(RankWithCollective(0, {100, 240}));
  set.ranks.push_back(RankWithCollective(1, {130, 241}));
  set.ranks.push_back(RankWithCollective(2, {190, 239}));
  return set;
}

RunReport ReportOf(trace::TraceSet& set) {
  const analyze::RunView run =
      analyze::ViewRun(set, {}, {.align = trace::AlignClocks::kNever, .threads = 1});
  return CollectReport(run, "three");
}

// Rank 0: compute 130, transfer 240 - 190 = 50, waiting 190 - 100 = 90, idle 20 + 10 = 30.
// Rank 2: compute 130, transfer 49, no waiting, idle 110 + 11 = 121. Both sum to 300.
TEST(CollectTest, CommunicationSplitsIntoWaitingAndTransfer) {
  trace::TraceSet set = ThreeRanks();

  const RunReport report = ReportOf(set);

  ASSERT_THAT(report.rank_times, SizeIs(3));
  EXPECT_THAT(report.rank_times[0].part_ns, ElementsAre(130 * kMicrosecond, 50 * kMicrosecond,
                                                        90 * kMicrosecond, 0, 30 * kMicrosecond));
  EXPECT_THAT(report.rank_times[2].part_ns,
              ElementsAre(130 * kMicrosecond, 49 * kMicrosecond, 0, 0, 121 * kMicrosecond));
}

// Compute hides the first half of the wait: of 100 to 190 only 145 to 190 is exposed.
TEST(CollectTest, WaitingUnderComputeIsNotCounted) {
  trace::TraceSet set = ThreeRanks();
  Rank busy(0);
  const RowId group = busy.Group("0", "[0,1,2]", 3);
  busy.Kernel("gemm", {0, 145});
  busy.Collective({.span = {100, 240}, .group = group, .bytes = 1'000'000, .sequence = 1});
  busy.Kernel("gemm", {250, 300});
  set.ranks[0] = busy.Finish();

  const RunReport report = ReportOf(set);

  EXPECT_THAT(report.rank_times[0].part_ns, ElementsAre(195 * kMicrosecond, 50 * kMicrosecond,
                                                        45 * kMicrosecond, 0, 10 * kMicrosecond));
}

// Exposed on the ranks: 140, 111 and 49 µs of the recorded 300.
TEST(CollectTest, TheHeadHasTheRunsTimeAndItsExposedCommunicationWithDefinitions) {
  trace::TraceSet set = ThreeRanks();

  const RunReport report = ReportOf(set);

  ASSERT_THAT(report.head, SizeIs(2));
  EXPECT_EQ(report.head[0].label, "recorded span");
  EXPECT_EQ(report.head[0].value, Value("300 µs"));
  EXPECT_EQ(report.head[0].note, report.time->definition);
  EXPECT_EQ(report.head[1].label, "exposed communication");
  EXPECT_EQ(report.head[1].value, Value("100 µs"));
  EXPECT_EQ(report.head[1].note, analyze::kExposedCommunication);
}

// A kernel from 0 to 20, then a copy of 8,000 bytes from the host in 80 µs: 100 MB/s.
TEST(FindingsTest, CopiesThatDevicesWaitForAreNamedWithTheirRate) {
  Rank rank(0);
  rank.Kernel("gemm", {0, 20});
  rank.Copy("Memcpy HtoD (Pageable -> Device)", {20, 100}, 8'000);
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  for (trace::CopyKind& kind : set.ranks[0].activities.copy_kind) {
    kind = trace::CopyKind::kHostToDevice;
  }

  const RunReport report = ReportOf(set);

  const auto found = std::ranges::find_if(report.findings, [](const Document::Finding& finding) {
    return finding.text == "Devices wait for copies from host memory for 80.0 % of the time.";
  });
  ASSERT_NE(found, report.findings.end());
  EXPECT_EQ(found->more, "Copies from host memory move 100 MB/s.");
}

TEST(CollectTest, TheTimelineShowsTheSamePartsInOrder) {
  trace::TraceSet set = ThreeRanks();

  const RunReport report = ReportOf(set);

  ASSERT_TRUE(report.timeline.has_value());
  EXPECT_EQ(report.timeline->length_ns, 300 * kMicrosecond);
  const std::vector<draw::TimelineSlice>& slices = report.timeline->rows[0].slices;
  ASSERT_THAT(slices, SizeIs(4));
  EXPECT_EQ(slices[1].series, static_cast<std::uint8_t>(Part::kWaiting));
  EXPECT_EQ(slices[1].begin_ns, 100 * kMicrosecond);
  EXPECT_EQ(slices[1].end_ns, 190 * kMicrosecond);
  EXPECT_EQ(slices[2].series, static_cast<std::uint8_t>(Part::kTransfer));
  EXPECT_EQ(slices[3].end_ns, 300 * kMicrosecond);
}

// Factor 2 · 2/3 of 1 MB in the shortest duration, 49 µs: 27.21 GB/s. Waits 90 + 60.
TEST(CollectTest, ACollectiveHasBandwidthAndWaits) {
  trace::TraceSet set = ThreeRanks();

  const RunReport report = ReportOf(set);

  ASSERT_THAT(report.collectives, SizeIs(1));
  EXPECT_EQ(report.collectives[0].kind, "all-reduce");
  EXPECT_NEAR(report.collectives[0].bus_bytes_per_second / 1e9, 4.0 / 3 * 1e6 / 49e3, 1e-9);
  EXPECT_EQ(report.collectives[0].waiting_ns, 150 * kMicrosecond);
  EXPECT_EQ(report.collectives[0].duration_ns, 300 * kMicrosecond);
}

TEST(CollectTest, LatenessCountsFromTheFirstArrival) {
  trace::TraceSet set = ThreeRanks();

  const RunReport report = ReportOf(set);

  ASSERT_TRUE(report.arrivals.has_value());
  EXPECT_THAT(report.arrivals->ranks, ElementsAre("rank 0", "rank 1", "rank 2"));
  EXPECT_THAT(report.arrivals->collectives, ElementsAre("0: all-reduce, 1.00 MB"));
  EXPECT_THAT(report.arrivals->late_ns, ElementsAre(0, 30 * kMicrosecond, 90 * kMicrosecond));
  ASSERT_THAT(report.stragglers, SizeIs(1));
  EXPECT_EQ(report.stragglers[0].rank, "rank 2");
  EXPECT_EQ(report.stragglers[0].blame_ns, 150 * kMicrosecond);
  EXPECT_EQ(report.stragglers[0].gain_ns, 60 * kMicrosecond);
}

// Ranks 0 and 1, and ranks 2 and 3, meet at the same time: one column serves both pairs.
TEST(CollectTest, GroupsWithoutACommonRankShareAColumn) {
  trace::TraceSet set;
  for (std::int32_t number = 0; number < 4; ++number) {
    Rank rank(number);
    const bool is_low = number < 2;
    const RowId group = rank.Group(is_low ? "low" : "high", is_low ? "[0,1]" : "[2,3]", 2);
    for (std::int64_t call = 0; call < 3; ++call) {
      rank.Collective({.span = {100 * call + number, 100 * call + 50},
                       .group = group,
                       .bytes = 4'096,
                       .sequence = call});
    }
    set.ranks.push_back(rank.Finish());
  }

  const RunReport report = ReportOf(set);

  ASSERT_TRUE(report.arrivals.has_value());
  EXPECT_THAT(report.arrivals->collectives, SizeIs(3));
  EXPECT_THAT(report.arrivals->late_ns,
              ElementsAre(0, 0, 0, kMicrosecond, kMicrosecond, kMicrosecond, 0, 0, 0, kMicrosecond,
                          kMicrosecond, kMicrosecond));
}

TEST(CollectTest, OneRankHasNoWaitsAndSaysSo) {
  trace::TraceSet set;
  set.ranks.push_back(RankWithCollective(0, {100, 240}));

  const RunReport report = ReportOf(set);

  EXPECT_FALSE(report.arrivals.has_value());
  EXPECT_THAT(report.stragglers, IsEmpty());
  EXPECT_THAT(report.findings, Contains(Field(&Document::Finding::text,
                                              HasSubstr("nothing was matched over ranks"))));
}

// The hops are contiguous and sum to the step.
TEST(CollectTest, TheCriticalPathRunsWithoutAHole) {
  trace::TraceSet set = ThreeRanks();

  const RunReport report = ReportOf(set);

  ASSERT_TRUE(report.critical_path.has_value());
  std::int64_t end_ns = 0;
  for (const Hop& hop : report.critical_path->hops) {
    EXPECT_EQ(hop.begin_ns, end_ns);
    end_ns += hop.duration_ns;
  }
  EXPECT_EQ(end_ns, report.critical_path->length_ns);
  EXPECT_EQ(end_ns, 300 * kMicrosecond);
}

TEST(CollectTest, AnEmptyRunGivesAPage) {
  trace::TraceSet set;
  set.ranks.emplace_back();

  EXPECT_THAT(RenderHtml(RunDocument(ReportOf(set))), HasSubstr("The run has no device activity."));
}

RunReport TwoRanks(std::array<std::int64_t, kNumParts> first,
                   std::array<std::int64_t, kNumParts> second) {
  return {.title = "two",
          .rank_times = {{.label = "rank 0", .part_ns = first},
                         {.label = "rank 1", .part_ns = second}}};
}

// Waiting 20 % and 40 %, idle 10 % and 0 %: means of 30 % and 5 %.
TEST(FindingsTest, TheLargestShareComesFirst) {
  RunReport report = TwoRanks({60, 10, 20, 0, 10}, {50, 10, 40, 0, 0});
  report.stragglers = {{.rank = "rank 0", .times_last = 3, .blame_ns = 300, .gain_ns = 200},
                       {.rank = "rank 1", .times_last = 1, .blame_ns = 100, .gain_ns = 100}};

  const std::vector<Document::Finding> findings = FindingsOf(report);

  ASSERT_GE(findings.size(), 3U);
  EXPECT_THAT(findings[0].text, HasSubstr("30.0 % of the time waiting"));
  EXPECT_EQ(findings[0].more,
            "Rank 0 causes 75 % of it: last at 3 of 4 collectives; fixing it alone could save up "
            "to 200 ns.");
  EXPECT_THAT(findings[1].text, HasSubstr("10.0 % of the time"));
}

// 120 is 20 % above 100, the median of 80 and 120.
TEST(FindingsTest, AnUnevenShareOfWorkIsNamed) {
  const RunReport report = TwoRanks({80, 0, 0, 0, 120}, {120, 0, 0, 0, 80});

  const std::vector<Document::Finding> findings = FindingsOf(report);

  ASSERT_THAT(findings, SizeIs(2));
  EXPECT_THAT(findings[1].text, HasSubstr("rank 1 computes 20 % longer"));
}

TEST(FindingsTest, EqualRanksThatComputeHaveOneFinding) {
  const std::vector<Document::Finding> findings =
      FindingsOf(TwoRanks({1'000, 0, 0, 0, 5}, {1'000, 0, 0, 0, 5}));

  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(findings[0].text, HasSubstr("Devices compute for 99.5 %"));
}

// Host 30 + 40 of 100, in two operators; transfer 30.
TEST(FindingsTest, TheCriticalPathNamesItsLargestClass) {
  RunReport report{.title = "path"};
  report.critical_path = CriticalPath{.step = "Step 1",
                                      .length_ns = 100,
                                      .num_rank_changes = 1,
                                      .hops = {{0, 30, 0, "host", "aten::item"},
                                               {30, 30, 0, "transfer", "all-reduce"},
                                               {60, 40, 1, "host", "data"}}};

  const std::vector<Document::Finding> findings = FindingsOf(report);

  ASSERT_THAT(findings, SizeIs(1));
  EXPECT_THAT(
      findings[0].text,
      HasSubstr("70 % of the critical path, which decides how long the step takes, is CPU"));
  EXPECT_EQ(findings[0].more, "The largest single item is data (CPU): 40 ns in 1 hop.");
}

TEST(FindingsTest, NothingIsSaidOfNothing) {
  EXPECT_THAT(FindingsOf({.title = "nothing"}), IsEmpty());
}

}  // namespace
}  // namespace orrery::report
