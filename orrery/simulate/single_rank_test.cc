#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/replay.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::LaneId;
using workload::LaneKind;
using workload::Program;
using workload::TaskId;
using workload::TaskKind;

/// One host thread and one stream, written like a program.
class ProgramWriter {
 public:
  explicit ProgramWriter(std::int64_t gap_ps = 0) {
    host_ = program.lanes.Append({.kind = LaneKind::kHostThread});
    stream_ = program.lanes.Append({.kind = LaneKind::kStream, .gap_ps = gap_ps});
  }

  TaskId Host(std::int64_t duration_ps) {
    return program.tasks.Append({.lane = host_, .duration_ps = duration_ps});
  }

  TaskId Kernel(std::int64_t launch_ps, std::int64_t kernel_ps) {
    const TaskId launch =
        program.tasks.Append({.lane = host_, .kind = TaskKind::kLaunch, .duration_ps = launch_ps});
    return program.tasks.Append(
        {.lane = stream_, .kind = TaskKind::kKernel, .duration_ps = kernel_ps, .launch = launch});
  }

  TaskId Wait(TaskId kernel) {
    const TaskId wait = program.tasks.Append({.lane = host_, .kind = TaskKind::kSynchronize});
    program.edges.Append({.from = kernel, .to = wait});
    return wait;
  }

  Program program;

 private:
  LaneId host_ = 0;
  LaneId stream_ = 0;
};

Timeline RunOrDie(const Program& program, const EngineOptions& options = {}) {
  Result<Timeline> timeline = SimulateSingleRank(program, options);
  EXPECT_TRUE(timeline.has_value());
  return timeline ? *std::move(timeline) : Timeline{};
}

// The walk of ml_perf_model on one rank: T1 = 5, T4 = 4; kernels take 5 more than their price, and
// a stream rests 1 between two. relu (T2 10, T3 8, kernel 20): the host is at 5 + 10 + 4 = 19 when
// it is launched, so it runs 19–44, and the host goes on to 27. view (T5 7): 27 + 5 + 7 = 39. add
// (T2 12, T3 6, kernel 1): launched at 39 + 5 + 12 + 4 = 60, runs 60–66; the host ends at 66.
TEST(EngineTest, HostAndStreamOfAShortProgram) {
  ProgramWriter writer(1);
  writer.Host(5 + 10);
  const TaskId relu = writer.Kernel(4, 20 + 5);
  const TaskId relu_end = writer.Host(8);
  const TaskId view = writer.Host(5 + 7);
  writer.Host(5 + 12);
  const TaskId add = writer.Kernel(4, 1 + 5);
  const TaskId add_end = writer.Host(6);

  const Timeline timeline = RunOrDie(writer.program);
  const StepFigures figures = FiguresOf(writer.program, timeline);

  EXPECT_EQ(timeline.begin_ps[relu], 19);
  EXPECT_EQ(timeline.end_ps[relu], 44);
  EXPECT_EQ(timeline.end_ps[relu_end], 27);
  EXPECT_EQ(timeline.end_ps[view], 39);
  EXPECT_EQ(timeline.begin_ps[add], 60);
  EXPECT_EQ(timeline.end_ps[add], 66);
  EXPECT_EQ(timeline.end_ps[add_end], 66);
  EXPECT_EQ(figures.step_ps, 66);
  EXPECT_EQ(figures.active_ps, 31);
  EXPECT_EQ(figures.host_bound_ps, 35);  // 0–19 and 44–60
  EXPECT_EQ(figures.other_idle_ps, 0);
}

// Rank 0 of the walk on two ranks, up to its all-reduce: mm (T2 10, T3 8, kernel 20) runs 19–44 as
// above. The host is at 27 + 5 + 15 + 4 = 51 when it has launched a copy of 2, which runs 51–58,
// and at 51 + 3 + 4 = 58 when it has launched the collective, which begins 1 after the copy.
TEST(EngineTest, CommunicationStreamWaitsForTheComputeStream) {
  ProgramWriter writer(1);
  const LaneId communication =
      writer.program.lanes.Append({.kind = LaneKind::kStream, .gap_ps = 1});
  writer.Host(5 + 10);
  const TaskId mm = writer.Kernel(4, 25);
  writer.Host(8);
  writer.Host(5 + 15);
  const TaskId copy = writer.Kernel(4, 7);
  writer.Host(3);
  const TaskId launch =
      writer.program.tasks.Append({.lane = 0, .kind = TaskKind::kLaunch, .duration_ps = 4});
  const TaskId reduce = writer.program.tasks.Append(
      {.lane = communication, .kind = TaskKind::kCollective, .duration_ps = 35, .launch = launch});
  writer.program.edges.Append({.from = copy, .to = reduce, .lag_ps = 1});

  const Timeline timeline = RunOrDie(writer.program);

  EXPECT_EQ(timeline.end_ps[mm], 44);
  EXPECT_EQ(timeline.end_ps[copy], 58);
  EXPECT_EQ(timeline.begin_ps[reduce], 59);
}

// The host launches a kernel of 100 in 10 a step. It runs ahead, so a step takes 100.
TEST(EngineTest, HostRunsAheadOfTheStreamOverSteps) {
  ProgramWriter writer;
  writer.Kernel(10, 100);

  const Timeline timeline = RunOrDie(writer.program, {.repetitions = 5});

  EXPECT_EQ(FiguresOf(writer.program, timeline).step_ps, 100);
  EXPECT_EQ(timeline.end_ps[timeline.First(0, 4)], 50);
}

// The same with a queue of two: the launch of step n ends when the kernel of step n − 2 begins,
// which is at 10 + 100·(n − 2).
TEST(EngineTest, LaunchIntoAFullQueueWaits) {
  ProgramWriter writer;
  writer.Kernel(10, 100);

  const Timeline timeline = RunOrDie(writer.program, {.repetitions = 5, .queue_depth = 2});

  EXPECT_EQ(timeline.end_ps[timeline.First(0, 1)], 20);
  EXPECT_EQ(timeline.end_ps[timeline.First(0, 2)], 30);   // its kernel 0 began at 10
  EXPECT_EQ(timeline.end_ps[timeline.First(0, 3)], 110);  // kernel 1 begins at 110
  EXPECT_EQ(timeline.end_ps[timeline.First(0, 4)], 210);
}

// Waiting for the kernel puts host and stream in turn: 10 + 100 a step, all of the 10 host-bound.
TEST(EngineTest, SynchronisationTakesTurns) {
  ProgramWriter writer;
  writer.Wait(writer.Kernel(10, 100));

  const Timeline timeline = RunOrDie(writer.program, {.repetitions = 3});
  const StepFigures figures = FiguresOf(writer.program, timeline);

  EXPECT_EQ(figures.step_ps, 110);
  EXPECT_EQ(figures.active_ps, 100);
  EXPECT_EQ(figures.host_bound_ps, 10);
  EXPECT_DOUBLE_EQ(figures.HostBoundShare(), 10.0 / 110);
}

TEST(EngineTest, TasksInACircleAreAnErrorThatNamesOne) {
  ProgramWriter writer;
  const TaskId first = writer.Host(1);
  const TaskId second = writer.Host(1);
  writer.program.edges.Append({.from = second, .to = first});

  const Result<Timeline> timeline = SimulateSingleRank(writer.program);

  ASSERT_FALSE(timeline.has_value());
  EXPECT_THAT(timeline.error().message(), ::testing::HasSubstr("task 0"));
}

/// A program of a host thread, two streams and waits, from random numbers.
Program RandomProgram(const std::vector<std::uint32_t>& numbers) {
  ProgramWriter writer(2);
  const LaneId second = writer.program.lanes.Append({.kind = LaneKind::kStream});
  TaskId last_kernel = kNone;
  for (const std::uint32_t number : numbers) {
    const auto duration_ps = static_cast<std::int64_t>(number / 8 % 1000);
    switch (number % 8) {
      case 0:
        if (last_kernel != kNone) {
          writer.Wait(last_kernel);
        }
        break;
      case 1:
      case 2:
        writer.Host(duration_ps);
        break;
      default:
        const TaskId kernel = writer.Kernel(5, duration_ps);
        if (number % 8 == 7) {
          writer.program.tasks.lane[kernel] = second;
          if (last_kernel != kNone) {
            writer.program.edges.Append({.from = last_kernel, .to = kernel});
          }
        }
        last_kernel = kernel;
    }
  }
  return std::move(writer.program);
}

std::int64_t EndOf(const Timeline& timeline) {
  return timeline.end_ps.empty()
             ? 0
             : *std::max_element(timeline.end_ps.begin(), timeline.end_ps.end());
}

RC_GTEST_PROP(EngineProperty, NoLaneIsFasterThanItsTasks,
              (const std::vector<std::uint32_t>& numbers)) {
  const Program program = RandomProgram(numbers);
  const Timeline timeline = *SimulateSingleRank(program, {.repetitions = 3, .queue_depth = 4});
  std::vector<std::int64_t> work_ps(program.lanes.size());
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    work_ps[program.tasks.lane[task]] += 3 * program.tasks.duration_ps[task];
  }
  RC_ASSERT(EndOf(timeline) >= *std::max_element(work_ps.begin(), work_ps.end()));
}

RC_GTEST_PROP(EngineProperty, TasksOfALaneDoNotOverlapAndDependenciesHold,
              (const std::vector<std::uint32_t>& numbers)) {
  const Program program = RandomProgram(numbers);
  const Timeline timeline = *SimulateSingleRank(program, {.repetitions = 2});
  for (int repetition = 0; repetition < 2; ++repetition) {
    const std::size_t first = timeline.First(0, repetition);
    for (RowId edge = 0; edge < program.edges.size(); ++edge) {
      RC_ASSERT(timeline.begin_ps[first + program.edges.to[edge]] >=
                timeline.end_ps[first + program.edges.from[edge]]);
    }
    std::vector<std::int64_t> free_ps(program.lanes.size(), 0);
    for (TaskId task = 0; task < program.tasks.size(); ++task) {
      std::int64_t& free = free_ps[program.tasks.lane[task]];
      RC_ASSERT(timeline.begin_ps[first + task] >= free);
      free = timeline.end_ps[first + task];
    }
  }
}

RC_GTEST_PROP(EngineProperty, LongerTasksNeverEndEarlier,
              (const std::vector<std::uint32_t>& numbers, std::uint32_t which,
               std::uint16_t more)) {
  Program program = RandomProgram(numbers);
  RC_PRE(!program.tasks.empty());
  const Timeline before = *SimulateSingleRank(program, {.repetitions = 2, .queue_depth = 3});
  program.tasks.duration_ps[which % program.tasks.size()] += more;
  const Timeline after = *SimulateSingleRank(program, {.repetitions = 2, .queue_depth = 3});
  for (std::size_t i = 0; i < before.end_ps.size(); ++i) {
    RC_ASSERT(after.end_ps[i] >= before.end_ps[i]);
  }
}

RC_GTEST_PROP(EngineProperty, TheSameProgramGivesTheSameTimeline,
              (const std::vector<std::uint32_t>& numbers)) {
  const Program program = RandomProgram(numbers);
  RC_ASSERT(*SimulateSingleRank(program, {.repetitions = 2}) ==
            *SimulateSingleRank(program, {.repetitions = 2}));
}

RC_GTEST_PROP(EngineProperty, TheStepIsActiveOrIdle, (const std::vector<std::uint32_t>& numbers)) {
  const Program program = RandomProgram(numbers);
  const Timeline timeline = *SimulateSingleRank(program, {.repetitions = 1});
  const StepFigures figures = FiguresOf(program, timeline);
  RC_ASSERT(figures.active_ps + figures.host_bound_ps + figures.other_idle_ps <= figures.step_ps);
}

}  // namespace
}  // namespace orrery::simulate
