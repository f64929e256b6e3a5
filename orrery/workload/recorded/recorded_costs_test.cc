#include "orrery/workload/recorded/recorded_costs.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {

using ::testing::Pointwise;
using trace::Trace;

auto Near(const std::vector<double>& expected) {
  return Pointwise(::testing::DoubleNear(1e-6), expected);
}

/// A step of 0–200: relu 20–60 launches at 30–40, view 100–104 does nothing recorded.
void WriteStep(RecordingWriter& writer, std::int64_t at, std::int64_t relu_end = 60) {
  writer.Annotation("ProfilerStep#" + std::to_string(at), at, at + 200);
  writer.Operator("aten::relu", at + 20, at + relu_end);
  writer.Launch(at + 30, at + 40, 5000);
  writer.Operator("aten::view", at + 100, at + 104);
}

StepCosts CostsOf(const Trace& recording, double profiler_cost_ns, std::size_t which = 0) {
  const std::vector<CallTree> steps = RecordedSteps(recording);
  return RecordedHost(recording, steps, which).Without(profiler_cost_ns);
}

// Calls: thread, step, relu, launch, view. Before relu 20, before its launch 10, before view 40.
// Own: the launch 10, relu 20 behind its launch, view 4, the step 96 behind view.
TEST(RecordedCostsTest, CostsAreThoseOfTheirPlace) {
  RecordingWriter writer;
  WriteStep(writer, 0);

  const StepCosts costs = CostsOf(writer.Finish(), 0);

  ASSERT_EQ(costs.threads.size(), 1);
  EXPECT_THAT(costs.threads[0].before_ns, Near({0, 0, 20'000, 10'000, 40'000}));
  EXPECT_THAT(costs.threads[0].own_ns, Near({0, 96'000, 20'000, 10'000, 4'000}));
}

// One µs an event: of an operator or range 0.4 inside (half at each end) and 0.3 on each side, of a
// launch 0.25 inside and 0.125 on each side. Before relu 0.2 + 0.3, before its launch 0.2 + 0.125,
// behind it 0.125 + 0.2, before view 0.3 + 0.3, of view 0.4, at the end of the step 0.3 + 0.2.
// Calls before the step lie outside it.
TEST(RecordedCostsTest, ProfilerIsTakenOffWhereItRuns) {
  RecordingWriter writer;
  WriteStep(writer, 0);

  const StepCosts costs = CostsOf(writer.Finish(), 1000);

  EXPECT_THAT(costs.threads[0].before_ns, Near({0, 0, 19'500, 9'675, 39'400}));
  EXPECT_THAT(costs.threads[0].own_ns, Near({0, 95'500, 19'675, 9'750, 3'600}));
}

// 20 µs an event: view owes 8 of its 4 and keeps a tenth, 0.4; the 4.4 that it cannot give are
// taken from the end of the step: 96 − 10 − 4.4.
TEST(RecordedCostsTest, WhatACostCannotGiveIsTakenFromTheNext) {
  RecordingWriter writer;
  WriteStep(writer, 0);

  const StepCosts costs = CostsOf(writer.Finish(), 20'000);

  EXPECT_NEAR(costs.threads[0].own_ns[4], 400, 1e-6);
  EXPECT_NEAR(costs.threads[0].own_ns[1], 81'600, 1e-6);
}

// relu takes 20, 20 and 35 behind its launch; the third was disturbed.
TEST(RecordedCostsTest, StepsThatMakeTheSameCallsAgreeOnAMedian) {
  RecordingWriter writer;
  WriteStep(writer, 0);
  WriteStep(writer, 200);
  WriteStep(writer, 400, 75);

  const StepCosts costs = CostsOf(writer.Finish(), 0, 2);

  EXPECT_NEAR(costs.threads[0].own_ns[2], 20'000, 1e-6);
}

TEST(RecordedCostsTest, StepsThatMakeOtherCallsDoNotCount) {
  RecordingWriter writer;
  WriteStep(writer, 0);
  WriteStep(writer, 200, 75);
  writer.Operator("aten::add", 350, 360);
  const Trace recording = writer.Finish();
  const std::vector<CallTree> steps = RecordedSteps(recording);

  EXPECT_EQ(RecordedHost(recording, steps, 0).num_steps(), 1);
  EXPECT_NEAR(CostsOf(recording, 0, 1).threads[0].own_ns[2], 35'000, 1e-6);
}

// The main thread calls relu at 10–20 and add_ at 100–110. The backward thread runs 30–90: it takes
// 10 to begin behind relu, and the main thread 10 to go on behind it.
TEST(RecordedCostsTest, ThreadsThatWaitForEachOtherPayForHandingOver) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 120);
  writer.Operator("aten::relu", 10, 20);
  writer.Operator("aten::add_", 100, 110);
  writer.SwitchThread();
  writer.Operator("autograd::engine::evaluate_function: ReluBackward0", 30, 90);

  const StepCosts costs = CostsOf(writer.Finish(), 0);

  ASSERT_EQ(costs.threads.size(), 2);
  EXPECT_THAT(costs.threads[0].before_ns, Near({0, 0, 10'000, 10'000}));
  EXPECT_THAT(costs.threads[1].before_ns, Near({0, 10'000}));
  EXPECT_THAT(costs.threads[1].own_ns, Near({0, 60'000}));
}

// The kernel runs from 20 to 70; the wait of 30–78 is over 8 behind its end.
TEST(RecordedCostsTest, WaitingForTheGpuIsNoCost) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 100);
  writer.Launch(5, 15, 50'000, 20);
  writer.Synchronize(30, 78);

  const StepCosts costs = CostsOf(writer.Finish(), 0);

  EXPECT_NEAR(costs.threads[0].own_ns[3], 8'000, 1e-6);
}

// 700 launches of 2 µs while the first kernel runs; the last waits 50 µs for a place.
TEST(RecordedCostsTest, LaunchIntoAFullQueueTakesWhatLaunchesUsuallyTake) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 10'000);
  writer.Launch(1, 3, 5'000'000, 5);
  for (std::int64_t i = 1; i < 700; ++i) {
    writer.Launch(5 * i, 5 * i + 2, 1000, 5'100 + 2 * i);
  }
  writer.Launch(3'500, 3'550, 1000, 6'600);

  const StepCosts costs = CostsOf(writer.Finish(), 0);

  EXPECT_NEAR(costs.threads[0].own_ns.back(), 2'000, 1e-6);
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

/// Operators of 0 to 9 µs, 0 to 9 apart, in a step around them; some launch.
Trace RandomRecording(std::int64_t* length) {
  RecordingWriter writer;
  std::int64_t at = 0;
  for (const auto& [gap, before, after] :
       *rc::gen::container<std::vector<std::tuple<int, int, int>>>(rc::gen::tuple(
           rc::gen::inRange(0, 10), rc::gen::inRange(0, 10), rc::gen::inRange(0, 10)))) {
    const std::int64_t begin = at + gap;
    at = begin + before + after + 3;
    writer.Operator("aten::relu", begin, at);
    writer.Launch(begin + 1 + before, begin + 2 + before, 1000);
  }
  *length = at + 1;
  writer.Annotation("ProfilerStep#1", 0, *length);
  return writer.Finish();
}

RC_GTEST_PROP(RecordedCostsProperty, CostsOfAThreadAddUpToItsTime, ()) {
  std::int64_t length = 0;
  const Trace recording = RandomRecording(&length);

  const StepCosts costs = CostsOf(recording, 0);

  const double sum_ns = Sum(costs.threads[0].before_ns) + Sum(costs.threads[0].own_ns);
  RC_ASSERT(std::abs(sum_ns - static_cast<double>(length * 1000)) < 1e-3);
}

RC_GTEST_PROP(RecordedCostsProperty, NoProfilerCostMakesACostNegativeOrLarger, ()) {
  std::int64_t length = 0;
  const Trace recording = RandomRecording(&length);
  const auto cost_ns = static_cast<double>(*rc::gen::inRange(0, 100'000));

  const StepCosts with = CostsOf(recording, 0);
  const StepCosts without = CostsOf(recording, cost_ns);

  for (std::size_t place = 0; place < with.threads[0].own_ns.size(); ++place) {
    RC_ASSERT(without.threads[0].own_ns[place] >= 0.0);
    RC_ASSERT(without.threads[0].own_ns[place] <= with.threads[0].own_ns[place]);
    RC_ASSERT(without.threads[0].before_ns[place] >= 0.0);
    RC_ASSERT(without.threads[0].before_ns[place] <= with.threads[0].before_ns[place]);
  }
}

}  // namespace
}  // namespace orrery::workload
