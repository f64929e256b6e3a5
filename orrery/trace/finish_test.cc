#include "orrery/trace/finish.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

using testing::ElementsAre;

std::int64_t CountOf(const Trace& trace, std::string_view what) {
  for (const Problem& problem : trace.problems.all()) {
    if (problem.what == what) {
      return problem.count;
    }
  }
  return 0;
}

TEST(FinishTest, RowsComeInTimeOrderLongerFirst) {
  Trace trace;
  trace.host_ops.Append({.begin_ns = 20, .duration_ns = 1});
  trace.host_ops.Append({.begin_ns = 10, .duration_ns = 2});
  trace.host_ops.Append({.begin_ns = 10, .duration_ns = 9});

  FinishTrace(trace);

  EXPECT_THAT(trace.host_ops.begin_ns, ElementsAre(10, 10, 20));
  EXPECT_THAT(trace.host_ops.duration_ns, ElementsAre(9, 2, 1));
}

// Two messages of 2^62 bytes are together 2^63, which wraps around to a negative sum.
TEST(FinishTest, SizesThatNoMemoryHasAreUnknown) {
  Trace trace;
  trace.activities.Append({.bytes = std::int64_t{1} << 44});
  trace.activities.Append({.bytes = (std::int64_t{1} << 44) + 1});
  trace.collectives.Append({.in_bytes = std::int64_t{1} << 62, .out_bytes = 4096});

  FinishTrace(trace);

  EXPECT_THAT(trace.activities.bytes, ElementsAre(std::int64_t{1} << 44, -1));
  EXPECT_THAT(trace.collectives.in_bytes, ElementsAre(-1));
  EXPECT_THAT(trace.collectives.out_bytes, ElementsAre(4096));
  EXPECT_EQ(CountOf(trace, "size above 16 TiB, which no memory has, taken as unknown"), 2);
  EXPECT_TRUE(trace.problems.has_loss());
}

// On thread 0: annotation [0,100) around operator a [10,50) around b [20,30) and the call [22,25);
// c [60,70) is beside a. Thread 1's operator at the same time has no parent.
TEST(FinishTest, OperatorsAnnotationsAndCallsNestOnTheirThread) {
  Trace trace;
  const RowId thread0 = trace.tracks.Append({});
  const RowId thread1 = trace.tracks.Append({.thread = 1});
  trace.annotations.Append({.begin_ns = 0, .duration_ns = 100, .track = thread0});
  trace.host_ops.Append({.begin_ns = 10, .duration_ns = 40, .track = thread0});
  trace.host_ops.Append({.begin_ns = 20, .duration_ns = 10, .track = thread0});
  trace.host_ops.Append({.begin_ns = 21, .duration_ns = 10, .track = thread1});
  trace.host_ops.Append({.begin_ns = 60, .duration_ns = 10, .track = thread0});
  trace.runtime_calls.Append({.begin_ns = 22, .duration_ns = 3, .track = thread0});

  FinishTrace(trace);

  EXPECT_THAT(trace.host_ops.parent, ElementsAre(kNoRow, 0, kNoRow, kNoRow));
  EXPECT_THAT(trace.host_ops.annotation, ElementsAre(0, 0, kNoRow, 0));
  EXPECT_THAT(trace.runtime_calls.host_op, ElementsAre(1));
}

TEST(FinishTest, SlicesThatOverlapAreBothKeptAndCounted) {
  Trace trace;
  const RowId thread = trace.tracks.Append({});
  trace.host_ops.Append({.begin_ns = 0, .duration_ns = 10'000, .track = thread});
  trace.host_ops.Append({.begin_ns = 5'000, .duration_ns = 10'000, .track = thread});

  FinishTrace(trace);

  EXPECT_EQ(trace.host_ops.size(), 2U);
  EXPECT_EQ(trace.host_ops.parent[1], kNoRow);
  EXPECT_EQ(CountOf(trace, "overlapping slices on one thread"), 1);
}

// One graph launch starts three kernels: a join one to one would lose two.
TEST(FinishTest, OneLaunchMayHaveManyActivities) {
  Trace trace;
  trace.tracks.Append({});
  trace.runtime_calls.Append({.begin_ns = 0, .duration_ns = 5, .track = 0, .correlation = 7});
  for (int i = 0; i < 3; ++i) {
    trace.activities.Append({.begin_ns = 10 + i, .duration_ns = 1, .correlation = 7});
  }

  FinishTrace(trace);

  EXPECT_THAT(trace.activities.launch, ElementsAre(0, 0, 0));
}

// Id 7 is used at 0 and, after a wrap, again at 1 s: each kernel belongs to the call before it.
TEST(FinishTest, AReusedCorrelationGoesToTheNearestCallBefore) {
  Trace trace;
  trace.tracks.Append({});
  for (const std::int64_t begin_ns : {std::int64_t{0}, std::int64_t{1'000'000'000}}) {
    trace.runtime_calls.Append(
        {.begin_ns = begin_ns, .duration_ns = 5, .track = 0, .correlation = 7});
    trace.activities.Append({.begin_ns = begin_ns + 10, .duration_ns = 1, .correlation = 7});
  }

  FinishTrace(trace);

  EXPECT_THAT(trace.activities.launch, ElementsAre(0, 1));
  EXPECT_EQ(CountOf(trace, "correlation id used again"), 1);
}

TEST(FinishTest, TheOuterOfTwoNestedCallsIsTheLaunch) {
  Trace trace;
  trace.tracks.Append({});
  trace.runtime_calls.Append({.begin_ns = 0, .duration_ns = 20, .track = 0, .correlation = 7});
  trace.runtime_calls.Append({.begin_ns = 2, .duration_ns = 10, .track = 0, .correlation = 7});
  trace.activities.Append({.begin_ns = 30, .duration_ns = 1, .correlation = 7});

  FinishTrace(trace);

  EXPECT_THAT(trace.activities.launch, ElementsAre(0));
  EXPECT_THAT(trace.runtime_calls.parent, ElementsAre(kNoRow, 0));
}

// Host and device clocks differ a little: the kernel seems to begin 5 ns before its launch.
TEST(FinishTest, AKernelBeforeItsLaunchKeepsItsTimesAndIsCounted) {
  Trace trace;
  trace.tracks.Append({});
  trace.runtime_calls.Append({.begin_ns = 10, .duration_ns = 5, .track = 0, .correlation = 7});
  trace.activities.Append({.begin_ns = 5, .duration_ns = 9, .correlation = 7});

  FinishTrace(trace);

  EXPECT_THAT(trace.activities.launch, ElementsAre(0));
  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(5));
  EXPECT_EQ(CountOf(trace, "GPU activity that begins before its launch"), 1);
}

TEST(FinishTest, KernelsWithoutALaunchAreKeptAndCounted) {
  Trace trace;
  trace.tracks.Append({});
  trace.runtime_calls.Append({.begin_ns = 10, .duration_ns = 5, .track = 0, .correlation = 6});
  trace.activities.Append({.begin_ns = 30, .duration_ns = 1, .correlation = 7});

  FinishTrace(trace);

  EXPECT_EQ(trace.activities.size(), 1U);
  EXPECT_EQ(CountOf(trace, "GPU activity without a launch in the recording"), 1);
}

TEST(FinishTest, ARecordingOfGpuWorkAloneLacksNoLaunch) {
  Trace trace;
  trace.activities.Append({.begin_ns = 30, .duration_ns = 1, .correlation = 7});

  FinishTrace(trace);

  EXPECT_TRUE(trace.problems.all().empty());
}

// The external id of the call (3) is the operator's, not its correlation (7): it wins over time.
TEST(FinishTest, ExternalIdsNameTheOperatorWhereTheyDifferFromTheCorrelation) {
  Trace trace;
  trace.tracks.Append({});
  trace.host_ops.Append({.begin_ns = 0, .duration_ns = 5, .track = 0, .external_id = 3});
  trace.runtime_calls.Append(
      {.begin_ns = 50, .duration_ns = 5, .track = 0, .correlation = 7, .external_id = 3});
  trace.activities.Append({.begin_ns = 60, .correlation = 7, .external_id = 3});

  FinishTrace(trace);

  EXPECT_THAT(trace.runtime_calls.host_op, ElementsAre(0));
  EXPECT_THAT(trace.activities.host_op, ElementsAre(0));
}

TEST(FinishTest, ABackwardOperatorFindsTheLastForwardOfItsSequence) {
  Trace trace;
  trace.tracks.Append({});
  trace.host_ops.Append({.begin_ns = 0, .sequence = 5, .forward_thread = 0});
  trace.host_ops.Append({.begin_ns = 1, .sequence = 5, .forward_thread = 0});
  trace.host_ops.Append({.begin_ns = 9, .sequence = 5, .forward_thread = 1});

  FinishTrace(trace);

  EXPECT_THAT(trace.host_ops.forward_op, ElementsAre(kNoRow, kNoRow, 1));
}

TEST(StepsTest, ProfilerStepsWinOverOtherMarkersAndDeviceCopiesAreIgnored) {
  Trace trace;
  const StringId step3 = trace.strings.Intern("ProfilerStep#3");
  trace.annotations.Append({.begin_ns = 0, .duration_ns = 4, .name = step3});
  trace.annotations.Append(
      {.begin_ns = 1, .duration_ns = 4, .name = step3, .kind = AnnotationKind::kDevice});
  trace.annotations.Append({.begin_ns = 2, .name = trace.strings.Intern("step 9")});

  FindSteps(trace, "");

  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps.number[0], 3);
}

TEST(StepsTest, AUserMarkerReplacesTheKnownOnes) {
  Trace trace;
  trace.annotations.Append({.begin_ns = 0, .name = trace.strings.Intern("ProfilerStep#3")});
  trace.annotations.Append({.begin_ns = 1, .name = trace.strings.Intern("epoch 7 batch 21")});

  FindSteps(trace, "batch [0-9]+");

  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps.number[0], 21);
}

// Matching must not recurse once a character.
TEST(StepsTest, NamesMayBeLong) {
  Trace trace;
  trace.annotations.Append(
      {.begin_ns = 1, .name = trace.strings.Intern("step 21 " + std::string(1'000'000, 'x'))});

  FindSteps(trace, "^(step|batch).*$");

  ASSERT_EQ(trace.steps.size(), 1U);
}

TEST(StepsTest, XlasLineOfStepsOnTheFirstDeviceCounts) {
  Trace trace;
  const StringId steps = trace.strings.Intern("Steps");
  for (const std::int32_t device : {0, 1}) {
    trace.tracks.Append({.kind = TrackKind::kDevice, .device = device, .name = steps});
  }
  const StringId name = trace.strings.Intern("17");
  for (const RowId track : {1U, 0U}) {
    trace.annotations.Append({.begin_ns = track,
                              .duration_ns = 5,
                              .name = name,
                              .track = track,
                              .kind = AnnotationKind::kDevice});
  }

  FindSteps(trace, "");

  ASSERT_EQ(trace.steps.size(), 1U);
  EXPECT_EQ(trace.steps.begin_ns[0], 0);
  EXPECT_EQ(trace.steps.number[0], 17);
}

// The number in the name is a line of a program. Begins differ, so that order is seen.
TEST(StepsTest, StepsOfAnEngineOnXlaAreCounted) {
  Trace trace;
  const StringId step = trace.strings.Intern("$core.py:268 step");
  trace.annotations.Append({.begin_ns = 0, .duration_ns = 4, .name = step});
  trace.annotations.Append(
      {.begin_ns = 1, .duration_ns = 1, .name = trace.strings.Intern("$core.py:300 step_more")});
  trace.annotations.Append({.begin_ns = 9, .duration_ns = 4, .name = step});

  FindSteps(trace, "");

  EXPECT_THAT(trace.steps.begin_ns, ElementsAre(0, 9));
  EXPECT_THAT(trace.steps.number, ElementsAre(0, 1));
}

// The longest is 100, so 10 is not longer than a tenth of it and 11 is.
TEST(StepsTest, ShortStepMarkersOfXlaAreNone) {
  Trace trace;
  const StringId marker = trace.strings.Intern("StepMarker");
  for (const std::int64_t duration_ns : {100, 10, 11}) {
    trace.annotations.Append({.begin_ns = 0, .duration_ns = duration_ns, .name = marker});
  }

  FindSteps(trace, "");

  EXPECT_THAT(trace.steps.duration_ns, ElementsAre(100, 11));
  EXPECT_THAT(trace.steps.number, ElementsAre(0, 1));
}

TEST(StepsTest, ABadMarkerIsRefused) {
  EXPECT_FALSE(CheckStepMarker("step ["));
  EXPECT_TRUE(CheckStepMarker("step [0-9]+"));
  EXPECT_FALSE(CheckStepMarker("(a)\\1"));
}

TEST(RowIndexTest, SparseAndDenseNumbersAreFound) {
  const std::vector<std::int64_t> dense{5, 6, -1, 5};
  const RowIndex dense_index(dense);
  EXPECT_EQ(dense_index.First(5), 0U);
  EXPECT_EQ(dense_index.Next(0), 3U);
  EXPECT_EQ(dense_index.First(7), kNoRow);
  EXPECT_EQ(dense_index.First(-1), kNoRow);

  const std::vector<std::int64_t> sparse{5, 1'000'000'000'000};
  const RowIndex sparse_index(sparse);
  EXPECT_EQ(sparse_index.First(1'000'000'000'000), 1U);
  EXPECT_EQ(sparse_index.First(6), kNoRow);
}

}  // namespace
}  // namespace orrery::trace
