#include "orrery/workload/recorded/ranks/traced_rank.h"

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/ranks/traced_ensemble.h"
#include "orrery/workload/recorded/ranks/traced_job.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::UnorderedElementsAre;

constexpr std::int64_t kCompute = 7;
constexpr std::int64_t kTalk = 20;

TracedJob JobOf(std::vector<TracedCommunication> communications) {
  TracedJob job{.name = "test", .gpu = "H200", .world = 4, .ranks = {}};
  TracedRank rank{.rank = 0, .folder = "rank-0", .stands_for = {0, 1, 2, 3}};
  rank.collectives.groups = {{.name = "0", .ranks = {0, 1, 2, 3}}, {.name = "1", .ranks = {0}}};
  rank.collectives.communications = std::move(communications);
  job.ranks.push_back(std::move(rank));
  return job;
}

Result<TracedProgram> Build(const TracedJob& job, const trace::Trace& recording) {
  const TracedGroupRoles roles(job);
  const HostModel host;
  const hardware::Gpu gpu;
  return ProgramOfTracedRank(
      {.job = &job, .roles = &roles, .recording = &recording, .host = &host, .gpu = &gpu});
}

/// Work on streams as "name", in the order of the program.
struct Work {
  std::vector<TaskId> tasks;

  explicit Work(const Program& program) {
    for (TaskId task = 0; task < program.tasks.size(); ++task) {
      if (program.tasks.kind[task] == TaskKind::kKernel ||
          program.tasks.kind[task] == TaskKind::kCollective) {
        tasks.push_back(task);
      }
    }
  }
};

/// The tasks that a task waits for beside its lane and its launch.
std::vector<TaskId> Awaited(const Program& program, TaskId task) {
  std::vector<TaskId> awaited;
  for (RowId edge = 0; edge < program.edges.size(); ++edge) {
    if (program.edges.to[edge] == task) {
      awaited.push_back(program.edges.from[edge]);
    }
  }
  return awaited;
}

/// A kernel, an all-reduce behind it on another stream, a kernel beside it and one behind it; the
/// waits are those that NCCL's process group makes.
trace::Trace Overlapped() {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 200);
  writer.Annotation("backward", 5, 100);
  writer.Launch(10, 12, 4'000);
  const std::int64_t ready = writer.RecordEvent(14);
  writer.SwitchStream(kTalk);
  writer.WaitForEvent(16, ready);
  writer.Annotation("orrery.collective#0", 18, 24);
  writer.Launch(20, 22, 1'000);
  const std::int64_t done = writer.RecordEvent(26);
  writer.SwitchStream(kCompute);
  writer.Launch(30, 32, 5'000);
  writer.WaitForEvent(40, done);
  writer.Annotation("optimizer", 100, 190);
  writer.Launch(110, 112, 6'000);
  return writer.Finish();
}

TEST(TracedRankTest, ACommunicationStandsWhereItWasRecorded) {
  const TracedJob job = JobOf({{.group = 0, .bytes = 4096}});

  const auto traced = Build(job, Overlapped());

  ASSERT_TRUE(traced) << traced.error().message();
  EXPECT_THAT(traced->remarks, ElementsAre());
  const Program& program = traced->recorded.program;
  const std::vector<TaskId> work = Work(program).tasks;
  ASSERT_EQ(work.size(), 4);
  const TaskId communication = work[1];
  EXPECT_EQ(program.tasks.kind[communication], TaskKind::kCollective);
  EXPECT_EQ(program.tasks.duration_ps[communication], 0);
  EXPECT_EQ(program.lanes.number[program.tasks.lane[communication]], kTalk);
  const Communications::Row row =
      program.communications.At(program.tasks.communication[communication]);
  EXPECT_EQ(row.kind, CollectiveKind::kAllReduce);
  EXPECT_EQ(row.bytes, 4096);
  EXPECT_EQ(program.RoleName(row.role), "world");
  // The communication waits for the kernel before it, the last kernel for the communication, and
  // the one between them for neither.
  EXPECT_THAT(Awaited(program, communication), ElementsAre(work[0]));
  EXPECT_THAT(Awaited(program, work[2]), ElementsAre());
  EXPECT_THAT(Awaited(program, work[3]), ElementsAre(communication));
}

TEST(TracedRankTest, KernelsKnowTheirPhase) {
  const TracedJob job = JobOf({{.group = 0, .bytes = 4096}});
  const auto traced = Build(job, Overlapped());
  ASSERT_TRUE(traced);
  const Program& program = traced->recorded.program;
  std::vector<Phase> phases;
  std::vector<std::int32_t> microbatches;
  for (const TaskId task : Work(program).tasks) {
    phases.push_back(program.parts.phase[program.tasks.part[task]]);
    microbatches.push_back(program.tasks.microbatch[task]);
  }
  EXPECT_THAT(phases,
              ElementsAre(Phase::kBackward, Phase::kBackward, Phase::kBackward, Phase::kOptimizer));
  EXPECT_THAT(microbatches, ElementsAre(0, 0, 0, -1));
}

TEST(TracedRankTest, AGroupOfOneTakesNoTime) {
  const TracedJob job = JobOf({{.group = 1, .bytes = 4096}});

  const auto traced = Build(job, Overlapped());

  ASSERT_TRUE(traced);
  const Program& program = traced->recorded.program;
  EXPECT_TRUE(program.communications.empty());
  EXPECT_EQ(program.tasks.duration_ps[Work(program).tasks[1]], 0);
}

TEST(TracedRankTest, WhatIsRecordedButNotListedIsRefused) {
  const auto traced = Build(JobOf({}), Overlapped());

  ASSERT_FALSE(traced);
  EXPECT_THAT(traced.error().message(), HasSubstr("orrery.collective#0"));
}

TEST(TracedRankTest, WhatIsListedButNotRecordedIsSaid) {
  const TracedJob job = JobOf({{.group = 0, .bytes = 1}, {.group = 0, .bytes = 2}});

  const auto traced = Build(job, Overlapped());

  ASSERT_TRUE(traced);
  EXPECT_THAT(traced->remarks,
              ElementsAre(HasSubstr("1 of 2 communications are not in the recording")));
}

// Both messages follow the kernel and not each other, though one stream has both; the kernel that
// waits for the stream waits for both, and for what the stream waited for.
TEST(TracedRankTest, MessagesOfOneStreamDoNotWaitForEachOther) {
  const TracedJob job = JobOf({{.form = TracedCommunicationKind::kSend,
                                .kind = CollectiveKind::kSendRecv,
                                .bytes = 8,
                                .peer = 1},
                               {.form = TracedCommunicationKind::kReceive,
                                .kind = CollectiveKind::kSendRecv,
                                .bytes = 8,
                                .peer = 1}});
  RecordingWriter writer;
  writer.Launch(10, 12, 4'000);
  const std::int64_t ready = writer.RecordEvent(14);
  writer.SwitchStream(kTalk);
  writer.WaitForEvent(16, ready);
  writer.Annotation("orrery.collective#0", 18, 24);
  writer.Launch(20, 22, 1'000);
  writer.Annotation("orrery.collective#1", 28, 34);
  writer.Launch(30, 32, 1'000);
  const std::int64_t done = writer.RecordEvent(36);
  writer.SwitchStream(kCompute);
  writer.WaitForEvent(40, done);
  writer.Launch(50, 52, 6'000);

  const auto traced = Build(job, writer.Finish());

  ASSERT_TRUE(traced);
  const Program& program = traced->recorded.program;
  const std::vector<TaskId> work = Work(program).tasks;
  ASSERT_EQ(work.size(), 4);
  EXPECT_THAT(Awaited(program, work[1]), ElementsAre(work[0]));
  EXPECT_THAT(Awaited(program, work[2]), ElementsAre(work[0]));
  EXPECT_THAT(Awaited(program, work[3]), UnorderedElementsAre(work[0], work[1], work[2]));
  EXPECT_NE(program.tasks.lane[work[1]], program.tasks.lane[work[2]]);
  EXPECT_EQ(program.RoleName(0), "world send +1");
  EXPECT_EQ(program.strings.View(program.roles.dimension[0]), "world");
  EXPECT_EQ(program.RoleName(1), "world receive +1");
}

// The event is recorded before the stream has done anything in this step: it stands for the step
// before, and so does a task of no time in front of the stream.
TEST(TracedRankTest, AnEventBeforeTheFirstKernelIsThatOfTheStepBefore) {
  const TracedJob job = JobOf({});
  RecordingWriter writer;
  const std::int64_t begin = writer.RecordEvent(2);
  writer.SwitchStream(kTalk);
  writer.WaitForEvent(4, begin);
  writer.Launch(10, 12, 1'000);
  writer.SwitchStream(kCompute);
  writer.Launch(20, 22, 1'000);

  const auto traced = Build(job, writer.Finish());

  ASSERT_TRUE(traced);
  const Program& program = traced->recorded.program;
  const std::vector<TaskId> work = Work(program).tasks;
  ASSERT_THAT(Awaited(program, work[0]), ::testing::SizeIs(1));
  const TaskId mark = Awaited(program, work[0]).front();
  EXPECT_EQ(program.tasks.kind[mark], TaskKind::kRecord);
  EXPECT_EQ(program.tasks.lane[mark], program.tasks.lane[work[1]]);
  EXPECT_LT(mark, work[1]);
}

// Streams that wait for each other again and again without doing anything wait for little: what is
// done when the last task of a lane is done needs no edge of its own.
TEST(TracedRankTest, WaitsInTurnDoNotPileUp) {
  const TracedJob job = JobOf({});
  RecordingWriter writer;
  writer.Launch(10, 12, 1'000);
  std::int64_t now = 20;
  for (int i = 0; i < 64; ++i) {
    const std::int64_t of_compute = writer.RecordEvent(now++);
    writer.SwitchStream(kTalk);
    writer.WaitForEvent(now++, of_compute);
    const std::int64_t of_talk = writer.RecordEvent(now++);
    writer.SwitchStream(kCompute);
    writer.WaitForEvent(now++, of_talk);
  }
  writer.Launch(now, now + 2, 1'000);

  const auto traced = Build(job, writer.Finish());

  ASSERT_TRUE(traced);
  const Program& program = traced->recorded.program;
  EXPECT_THAT(Awaited(program, Work(program).tasks.back()), ::testing::SizeIs(2));
}

// The host waits for an event of the other stream, and not for the kernel behind the event.
TEST(TracedRankTest, TheHostWaitsForTheEventAlone) {
  const TracedJob job = JobOf({});
  RecordingWriter writer;
  writer.Launch(10, 12, 1'000);
  const std::int64_t event = writer.RecordEvent(14);
  writer.Launch(20, 22, 1'000);
  writer.SynchronizeEvent(30, 40, event);

  const auto traced = Build(job, writer.Finish());

  ASSERT_TRUE(traced);
  const Program& program = traced->recorded.program;
  TaskId wait = 0;
  while (program.tasks.kind[wait] != TaskKind::kSynchronize) {
    ++wait;
  }
  EXPECT_THAT(Awaited(program, wait), ElementsAre(Work(program).tasks.front()));
}

}  // namespace
}  // namespace orrery::workload
