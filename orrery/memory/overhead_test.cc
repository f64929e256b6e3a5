#include "orrery/memory/overhead.h"

#include <cstdint>
#include <optional>

#include <gtest/gtest.h>

#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::OverheadPhase;

trace::Trace Measured(std::int64_t collection_ns, std::int64_t total_ns) {
  trace::Trace trace;
  trace.overheads.Append({.phase = OverheadPhase::kExecution, .total_ns = 100});
  trace.overheads.Append({.phase = OverheadPhase::kCollection, .total_ns = collection_ns});
  trace.overheads.Append({.phase = OverheadPhase::kTotal, .total_ns = total_ns});
  return trace;
}

TEST(OverheadTest, WhatNoPartExplainsIsTheRest) {
  const OverheadSummary summary = OverheadOf(Measured(60, 200));

  EXPECT_EQ(summary.SumOfParts(), 160);
  EXPECT_EQ(summary.RestNs(), 40);
  EXPECT_TRUE(summary.Agrees(20));
  EXPECT_FALSE(summary.Agrees(19));
}

// PASTA defect 30: a part that is added twice makes the parts exceed the total.
TEST(OverheadTest, APartThatIsCountedTwiceShows) {
  trace::Trace trace = Measured(60, 160);
  ASSERT_TRUE(OverheadOf(trace).Agrees(5));
  trace.overheads.Append({.phase = OverheadPhase::kCollection, .total_ns = 60});

  const OverheadSummary summary = OverheadOf(trace);

  EXPECT_EQ(summary.RestNs(), -60);
  EXPECT_FALSE(summary.Agrees(5));
}

TEST(OverheadTest, WithoutATotalThePartsAreTheWhole) {
  trace::Trace trace;
  trace.overheads.Append(
      {.phase = OverheadPhase::kAnalysis, .total_ns = 7, .count = 2, .bytes = 9, .device = 0});
  trace.overheads.Append(
      {.phase = OverheadPhase::kAnalysis, .total_ns = 8, .count = 1, .bytes = 1, .device = 1});

  const OverheadSummary summary = OverheadOf(trace);

  EXPECT_FALSE(summary.total_ns.has_value());
  EXPECT_EQ(summary.WholeNs(), 15);
  EXPECT_EQ(summary.Of(OverheadPhase::kAnalysis),
            (OverheadPart{.total_ns = 15, .count = 3, .bytes = 10}));
}

// Of 900, 40 and 44 ns the first is left out; the median of two is their mean.
TEST(RecordedStepNs, LeavesTheFirstStepOut) {
  trace::Trace trace;
  EXPECT_EQ(RecordedStepNs(trace), std::nullopt);
  trace.steps.Append({.duration_ns = 900});
  EXPECT_EQ(RecordedStepNs(trace), 900);
  trace.steps.Append({.duration_ns = 40});
  trace.steps.Append({.duration_ns = 44});
  EXPECT_EQ(RecordedStepNs(trace), 42);
}

}  // namespace
}  // namespace orrery::memory
