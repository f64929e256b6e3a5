#include <cstdint>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/analyze/breakdown/idle_gaps.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;

std::vector<IdleGap> GapsOf(Rank& rank) {
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  std::int64_t sum_ns = 0;
  std::vector<IdleGap> gaps = FindIdleGaps(run, run.devices.at(0));
  for (const IdleGap& gap : gaps) {
    sum_ns += gap.time.length_ns();
  }
  EXPECT_EQ(sum_ns, run.devices[0].total.idle_ns);
  return gaps;
}

// Busy 10–20, 50–60, 70–80, 200–210, 300–310 µs. The second kernel is launched at 30, inside its
// gap; the third at 15, before a gap of 10; the fourth at 16, before a gap of 120; the launch of
// the fifth is not recorded.
TEST(IdleGapsTest, TheActivityThatEndsAGapTellsItsCause) {
  Rank rank(0);
  rank.Kernel("a", {10, 20}, 7, rank.Call({0, 2}));
  rank.Kernel("c", {70, 80}, 7, rank.Call({15, 16}));
  rank.Kernel("d", {200, 210}, 7, rank.Call({16, 17}));
  rank.Kernel("b", {50, 60}, 7, rank.Call({30, 32}));
  rank.Kernel("e", {300, 310});
  const std::vector<IdleGap> gaps = GapsOf(rank);
  ASSERT_EQ(gaps.size(), 4u);
  EXPECT_EQ(gaps[0].cause, IdleCause::kHostWait);
  EXPECT_EQ(gaps[0].time, (Interval{20'000, 50'000}));
  EXPECT_EQ(gaps[1].cause, IdleCause::kLaunchOverhead);
  EXPECT_EQ(gaps[2].cause, IdleCause::kOther);
  EXPECT_EQ(gaps[3].cause, IdleCause::kUnknown);
}

// Two activities begin at 50 together: the copy, which ends first, is the one to ask. It was
// launched late, the kernel was not.
TEST(IdleGapsTest, AmongEqualsTheShortestEndsTheGap) {
  Rank rank(0);
  rank.Kernel("a", {10, 20}, 7, rank.Call({0, 2}));
  rank.Kernel("long", {50, 90}, 7, rank.Call({3, 4}));
  rank.Copy("Memcpy HtoD", {50, 55}, 8, 8, rank.Call({40, 41}));
  const std::vector<IdleGap> gaps = GapsOf(rank);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].cause, IdleCause::kHostWait);
}

// A kernel of no duration leaves the gap whole.
TEST(IdleGapsTest, WhatTakesNoTimeEndsNoGap) {
  Rank rank(0);
  rank.Kernel("a", {10, 20}, 7, rank.Call({0, 2}));
  rank.Kernel("empty", {30, 30}, 7, rank.Call({2, 3}));
  rank.Kernel("b", {100, 110}, 7, rank.Call({4, 5}));
  const std::vector<IdleGap> gaps = GapsOf(rank);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].time, (Interval{20'000, 100'000}));
}

// Stream 7 of device 0 waits for an event behind the kernel of stream 9, which runs on device 1
// until 95. Device 0 is idle from 20 to 100, and the wait ends inside that gap.
TEST(IdleGapsTest, WorkOfAnotherDeviceIsADependency) {
  Rank rank(0);
  trace::Trace& trace = rank.trace();
  rank.Kernel("a", {10, 20}, 7, rank.Call({0, 1}));
  rank.Kernel("elsewhere", {5, 95}, 9, rank.Call({1, 2}));
  trace.tracks.device[trace.activities.track[1]] = 1;
  const std::int64_t record = rank.Call({2, 3}, "cudaEventRecord");
  const std::int64_t wait = rank.Call({3, 4}, "cudaStreamWaitEvent");
  rank.StreamWaitsForEvent(wait, 7, record, 9, 3);
  rank.Kernel("b", {100, 110}, 7, rank.Call({4, 5}));
  const std::vector<IdleGap> gaps = GapsOf(rank);
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].cause, IdleCause::kDependency);
}

// The first step's only kernel, launched at 199, begins at 217; the second step's first at 211. The
// second step's window is all there is, and it is idle from 211 to 217.
TEST(IdleGapsTest, AStepThatIsOvertakenHasNoTimeOfItsOwn) {
  Rank rank(0);
  rank.Kernel("late", {217, 217}, 7, rank.Call({199, 200}));
  rank.Kernel("last", {217, 217}, 7, rank.Call({217, 218}));
  rank.Kernel("early", {211, 211}, 7, rank.Call({211, 212}));
  rank.Step(0, {-100, 200}).Step(1, {200, 600});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  ASSERT_EQ(run.devices.at(0).windows.size(), 1u);
  EXPECT_EQ(run.devices.at(0).total.idle_ns, 6'000);
  const std::vector<IdleGap> gaps = FindIdleGaps(run, run.devices.at(0));
  ASSERT_EQ(gaps.size(), 1u);
  EXPECT_EQ(gaps[0].time, (Interval{211'000, 217'000}));
}

// Whatever runs when: gaps add up to the idle time of the breakdown and nothing runs inside them.
RC_GTEST_PROP(IdleGapsProperty, GapsAreTheIdleTime, ()) {
  Rank rank(0);
  const auto count = *rc::gen::inRange<std::int64_t>(1, 40);
  for (std::int64_t i = 0; i < count; ++i) {
    const auto begin = *rc::gen::inRange<std::int64_t>(0, 500);
    const auto length = *rc::gen::inRange<std::int64_t>(0, 30);
    const auto stream = *rc::gen::inRange<std::int64_t>(7, 10);
    const auto lead = *rc::gen::inRange<std::int64_t>(0, 60);
    rank.Kernel("k", {begin, begin + length}, stream, rank.Call({begin - lead, begin - lead + 1}));
  }
  rank.Step(0, {-100, 200}).Step(1, {200, 600});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  const DeviceView& device = run.devices.at(0);
  std::vector<Interval> gaps;
  std::int64_t sum_ns = 0;
  for (const IdleGap& gap : FindIdleGaps(run, device)) {
    gaps.push_back(gap.time);
    sum_ns += gap.time.length_ns();
  }
  RC_ASSERT(sum_ns == device.total.idle_ns);
  const IntervalSet busy = Union(device.compute, Union(device.communication, device.memory));
  RC_ASSERT(OverlapNs(IntervalSet::Of(gaps), busy) == 0);
}

}  // namespace
}  // namespace orrery::analyze
