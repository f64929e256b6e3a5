#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/memory/overhead.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::memory {
namespace {

using trace::OverheadPhase;
using trace::Trace;

void AddSteps(Trace& trace, const std::vector<std::int64_t>& durations_ns) {
  for (const std::int64_t duration_ns : durations_ns) {
    trace.steps.Append({.duration_ns = duration_ns});
  }
}

void AddLaunches(Trace& trace, std::string_view name, const std::vector<std::int64_t>& begins_ns) {
  for (const std::int64_t begin_ns : begins_ns) {
    trace.activities.Append({.begin_ns = begin_ns, .name = trace.strings.Intern(name)});
  }
}

// The first step of each loads kernels; the medians of the others are 900 and 40.
TEST(PlainTimeFrom, StepsAreComparedWhereBothHaveThem) {
  Trace recording;
  AddSteps(recording, {2'000, 900, 900});
  Trace plain;
  AddSteps(plain, {500, 40, 41, 39});

  EXPECT_EQ(
      PlainTimeFrom(plain, recording),
      (PlainTime{.piece = TimedPiece::kStep, .recorded_ns = 900, .plain_ns = 40, .num_pieces = 3}));
}

// A single step is a first one.
TEST(PlainTimeFrom, SaysWhereAFirstStepIsAmongTheTimes) {
  Trace one;
  AddSteps(one, {900});
  Trace three;
  AddSteps(three, {500, 40, 41});

  EXPECT_TRUE(PlainTimeFrom(three, one)->has_first_step);
  EXPECT_TRUE(PlainTimeFrom(one, three)->has_first_step);
  EXPECT_FALSE(PlainTimeFrom(three, three)->has_first_step);
}

// The plain run goes on after the launches that both have: 100 to 700 against 10 to 30.
TEST(PlainTimeFrom, ElseTheLaunchesThatBothHave) {
  Trace recording;
  AddLaunches(recording, "a", {100, 300, 700});
  Trace plain;
  AddLaunches(plain, "a", {10, 20, 30});
  AddLaunches(plain, "b", {80});

  EXPECT_EQ(
      PlainTimeFrom(plain, recording),
      (PlainTime{
          .piece = TimedPiece::kLaunches, .recorded_ns = 600, .plain_ns = 20, .num_pieces = 1}));
}

TEST(PlainTimeFrom, NothingInCommonIsNotCompared) {
  Trace recording;
  AddLaunches(recording, "a", {100, 300});
  Trace plain;
  AddLaunches(plain, "b", {10, 20});

  EXPECT_EQ(PlainTimeFrom(plain, recording), std::nullopt);
  EXPECT_EQ(PlainTimeFrom(std::int64_t{0}, recording), std::nullopt);
}

TEST(PlainTimeFrom, ATimeFromElsewhereIsThatOfAStep) {
  Trace recording;
  AddSteps(recording, {900});
  EXPECT_EQ(PlainTimeFrom(std::int64_t{30}, recording)->Slowdown(), 30);
}

// Of a step of 900 ns, 40 are execution; three steps had 30 ns of transfer and 90 of analysis: 10
// and 30 of one. The rest is 900 - 40 - 10 - 30 = 820, whatever the recorder saw of collection.
TEST(PartsOfPiece, WhatNothingElseExplainsIsCollection) {
  Trace recording;
  recording.overheads.Append({.phase = OverheadPhase::kCollection, .total_ns = 5});
  recording.overheads.Append({.phase = OverheadPhase::kTransfer, .total_ns = 30});
  recording.overheads.Append({.phase = OverheadPhase::kAnalysis, .total_ns = 90});
  const PlainTime time{.recorded_ns = 900, .plain_ns = 40, .num_pieces = 3};

  EXPECT_EQ(PartsOfPiece(OverheadOf(recording), time),
            (std::array<std::int64_t, kNumOverheadParts>{40, 820, 10, 30, 0}));
}

TEST(PartsOfPiece, ThreadsSideBySideLeaveNoCollection) {
  Trace recording;
  recording.overheads.Append({.phase = OverheadPhase::kAnalysis, .total_ns = 95});
  const PlainTime time{.recorded_ns = 100, .plain_ns = 40};

  EXPECT_EQ(PartsOfPiece(OverheadOf(recording), time),
            (std::array<std::int64_t, kNumOverheadParts>{40, 0, 0, 95, 0}));
}

}  // namespace
}  // namespace orrery::memory
