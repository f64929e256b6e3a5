#include "orrery/analyze/step_time.h"

#include <cstdint>
#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;

template <typename... Ranks>
trace::TraceSet SetOf(Ranks... ranks) {
  trace::TraceSet set;
  (set.ranks.push_back(ranks.Finish()), ...);
  return set;
}

// One step of `length` µs; the host launches at 2 a kernel that runs from 10 to 150.
Rank WithStep(std::int32_t number, std::int64_t length) {
  Rank rank(number);
  rank.Step(1, {0, length});
  rank.Kernel("k", {10, 150}, 7, rank.Call({2, 4}));
  return rank;
}

TEST(RunTimeTest, TheStepTimeIsTheMeanOfMarkersAndThenOfRanks) {
  trace::TraceSet set = SetOf(WithStep(0, 100), WithStep(1, 120));
  const std::optional<RunTime> time = MeasureRunTime(ViewRun(set, {}, {}));
  ASSERT_TRUE(time);
  EXPECT_TRUE(time->is_step);
  EXPECT_EQ(time->name, "step time");
  EXPECT_DOUBLE_EQ(time->seconds, 110e-6);
}

// Kernels from 10 to 30 and from 40 to 70: nothing says what a step is, so 60 µs have another name.
TEST(RunTimeTest, WithoutStepsItIsTheRecordedSpan) {
  Rank rank(0);
  rank.Kernel("a", {10, 30});
  rank.Kernel("b", {40, 70});
  trace::TraceSet set = SetOf(std::move(rank));
  const std::optional<RunTime> time = MeasureRunTime(ViewRun(set, {}, {}));
  ASSERT_TRUE(time);
  EXPECT_FALSE(time->is_step);
  EXPECT_EQ(time->name, "recorded span");
  EXPECT_DOUBLE_EQ(time->seconds, 60e-6);
}

TEST(RunTimeTest, ARunWithoutTimesHasNone) {
  trace::TraceSet set = SetOf(Rank(0));
  EXPECT_FALSE(MeasureRunTime(ViewRun(set, {}, {})));
}

// The path is 148 µs, from the launch to the kernel's end, the step time 100, since steps overlap:
// a path of half the length is half the step time, and an unchanged one the step time itself.
TEST(RunTimeTest, AReplayOfALongerPathScalesTheStepTime) {
  trace::TraceSet set = SetOf(WithStep(0, 100));
  const RunView run = ViewRun(set, {}, {});
  const DependencyGraph& graph = GraphOf(run);
  ASSERT_EQ(graph.path_ns(), 148'000);
  EXPECT_DOUBLE_EQ(ReplayedSeconds(run, graph, graph.path_ns()), 100e-6);
  EXPECT_DOUBLE_EQ(ReplayedSeconds(run, graph, 74'000), 50e-6);
  EXPECT_DOUBLE_EQ(SavedShare(run, graph, 74'000), 0.5);
}

// Of a step of 400 µs 252 are not on the path and stay.
TEST(RunTimeTest, AReplayOfAShorterPathSavesWhatThePathSaves) {
  trace::TraceSet set = SetOf(WithStep(0, 400));
  const RunView run = ViewRun(set, {}, {});
  const DependencyGraph& graph = GraphOf(run);
  ASSERT_EQ(graph.path_ns(), 148'000);
  EXPECT_DOUBLE_EQ(ReplayedSeconds(run, graph, graph.path_ns()), 400e-6);
  EXPECT_DOUBLE_EQ(ReplayedSeconds(run, graph, 48'000), 300e-6);
  EXPECT_DOUBLE_EQ(SavedShare(run, graph, 48'000), 0.25);
}

}  // namespace
}  // namespace orrery::analyze
