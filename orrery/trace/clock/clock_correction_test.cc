#include <cstdint>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {
namespace {

using testing::ElementsAre;

ClockAlignment Ahead(std::int64_t offset_ns) {
  return {.ranks = {{.offset_ns = offset_ns, .apply = true}}};
}

TEST(ClockCorrectionTest, AnOffsetIsSubtracted) {
  EXPECT_EQ(CorrectedTime({.offset_ns = 12'000}, 1'700'000'000'000'000'123),
            1'699'999'999'999'988'123);
  EXPECT_EQ(CorrectedTime({.offset_ns = -5}, 10), 15);
}

// The clock gains 10 µs a second: 2 s after the origin it is 20 µs ahead, half a second before it
// 5 µs behind.
TEST(ClockCorrectionTest, ADriftGrowsWithTheDistanceFromItsOrigin) {
  const RankClock clock{.drift_ps_per_s = 10'000'000, .drift_origin_ns = 1'000'000'000};

  EXPECT_EQ(CorrectedTime(clock, 1'000'000'000), 1'000'000'000);
  EXPECT_EQ(CorrectedTime(clock, 3'000'000'000), 3'000'000'000 - 20'000);
  EXPECT_EQ(CorrectedTime(clock, 500'000'000), 500'000'000 + 5'000);
}

TEST(ClockCorrectionTest, LaterTimesNeverComeOutEarlier) {
  const RankClock fast{.drift_ps_per_s = 300'000'000, .drift_origin_ns = 7};
  const RankClock slow{.drift_ps_per_s = -300'000'000, .drift_origin_ns = 7};

  for (std::int64_t time_ns = -5000; time_ns < 5000; ++time_ns) {
    EXPECT_LE(CorrectedTime(fast, time_ns), CorrectedTime(fast, time_ns + 1));
    EXPECT_LE(CorrectedTime(slow, time_ns), CorrectedTime(slow, time_ns + 1));
  }
}

// Every table with times moves, whatever tables there will be.
TEST(ClockCorrectionTest, EveryTableMoves) {
  TraceSet set;
  Trace& trace = set.ranks.emplace_back();
  ForEachTable(trace, []<typename Table>(const char*, Table& table) {
    if constexpr (requires { table.begin_ns; }) {
      typename Table::Row row;
      row.begin_ns = 1000;
      table.Append(row);
    }
  });

  ApplyAlignment(set, Ahead(300));

  int num_tables = 0;
  ForEachTable(trace, [&](const char* name, auto& table) {
    if constexpr (requires { table.begin_ns; }) {
      EXPECT_THAT(table.begin_ns, ElementsAre(700)) << name;
      ++num_tables;
    }
  });
  EXPECT_GE(num_tables, 14);
}

TEST(ClockCorrectionTest, EndsOfArrowsMoveAndDurationsStay) {
  TraceSet set;
  Trace& trace = set.ranks.emplace_back();
  trace.flows.Append({.begin_ns = 10, .end_ns = 20});
  trace.activities.Append({.begin_ns = 10, .duration_ns = 5});

  ApplyAlignment(set, Ahead(-100));

  EXPECT_THAT(trace.flows.end_ns, ElementsAre(120));
  EXPECT_THAT(trace.activities.duration_ns, ElementsAre(5));
}

TEST(ClockCorrectionTest, NodesWithoutATimeStayWithout) {
  TraceSet set;
  set.ranks.emplace_back().graph_nodes.Append({.begin_ns = -1, .duration_ns = -1});

  ApplyAlignment(set, Ahead(300));

  EXPECT_THAT(set.ranks[0].graph_nodes.begin_ns, ElementsAre(-1));
  EXPECT_THAT(set.ranks[0].graph_nodes.duration_ns, ElementsAre(-1));
}

TEST(ClockCorrectionTest, ARankThatIsNotToBeCorrectedStays) {
  TraceSet set;
  set.ranks.emplace_back().activities.Append({.begin_ns = 10});
  ClockAlignment alignment = Ahead(300);
  alignment.ranks[0].apply = false;

  ApplyAlignment(set, alignment);

  EXPECT_THAT(set.ranks[0].activities.begin_ns, ElementsAre(10));
}

// Slices inside another slice stay inside it, under any drift.
RC_GTEST_PROP(ClockCorrectionProperty, NestingSurvives, ()) {
  const auto begin_ns = *rc::gen::inRange<std::int64_t>(0, 1'000'000'000'000);
  const auto duration_ns = *rc::gen::inRange<std::int64_t>(2, 1'000'000);
  const auto inner_begin_ns = begin_ns + *rc::gen::inRange<std::int64_t>(0, duration_ns);
  const auto inner_end_ns =
      *rc::gen::inRange<std::int64_t>(inner_begin_ns, begin_ns + duration_ns + 1);
  const auto drift = *rc::gen::inRange<std::int64_t>(-1'000'000'000, 1'000'000'000);
  TraceSet set;
  HostOps& ops = set.ranks.emplace_back().host_ops;
  ops.Append({.begin_ns = begin_ns, .duration_ns = duration_ns});
  ops.Append({.begin_ns = inner_begin_ns, .duration_ns = inner_end_ns - inner_begin_ns});

  ApplyAlignment(set, {.ranks = {{.offset_ns = 77, .drift_ps_per_s = drift, .apply = true}}});

  RC_ASSERT(ops.begin_ns[0] <= ops.begin_ns[1]);
  RC_ASSERT(ops.begin_ns[1] + ops.duration_ns[1] <= ops.begin_ns[0] + ops.duration_ns[0]);
}

}  // namespace
}  // namespace orrery::trace
