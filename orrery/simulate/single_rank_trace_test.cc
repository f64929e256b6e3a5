#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/ensemble_trace.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using ::testing::ElementsAre;
using workload::LaneKind;
using workload::Program;
using workload::TaskId;
using workload::TaskKind;

/// aten::relu: 2 ns of host, a launch of 4 ns, 1 ns of host; its kernel takes 20 ns, 1 ns after it.
Program Relu() {
  Program program;
  program.launch_latency_ps = 1000;
  program.lanes.Append({.kind = LaneKind::kHostThread, .number = 11});
  program.lanes.Append({.kind = LaneKind::kStream, .number = 7});
  program.calls.Append(
      {.name = program.strings.Intern("aten::relu"), .lane = 0, .first_task = 0, .last_task = 2});
  program.tasks.Append({.lane = 0, .duration_ps = 2000, .call = 0});
  const TaskId launch = program.tasks.Append({.lane = 0,
                                              .kind = TaskKind::kLaunch,
                                              .duration_ps = 4000,
                                              .name = program.strings.Intern("cudaLaunchKernel"),
                                              .call = 0});
  program.tasks.Append({.lane = 0, .duration_ps = 1000, .call = 0});
  program.tasks.Append({.lane = 1,
                        .kind = TaskKind::kKernel,
                        .duration_ps = 20000,
                        .name = program.strings.Intern("relu_kernel"),
                        .call = 0,
                        .launch = launch});
  return program;
}

// The host is at 2 and 6 around its launch and done at 7, and again 7 later; the kernels run 7–27
// and, as the stream is busy, 27–47.
TEST(SingleRankTraceTest, LooksLikeARecording) {
  const Program program = Relu();
  const Result<Timeline> timeline = SimulateSingleRank(program, {.repetitions = 2});
  ASSERT_TRUE(timeline.has_value());

  const trace::TraceSet set =
      EnsembleTrace(SingleRank(program), *timeline, {.gpu = "H200", .marks_training_loop = true});
  const trace::Trace& trace = set.ranks.front();

  EXPECT_THAT(trace.host_ops.begin_ns, ElementsAre(0, 7));
  EXPECT_THAT(trace.host_ops.duration_ns, ElementsAre(7, 7));
  EXPECT_THAT(trace.runtime_calls.begin_ns, ElementsAre(2, 9));
  EXPECT_THAT(trace.activities.begin_ns, ElementsAre(7, 27));
  EXPECT_THAT(trace.activities.launch, ElementsAre(0, 1));
  EXPECT_THAT(trace.activities.host_op, ElementsAre(0, 1));
  EXPECT_THAT(trace.steps.begin_ns, ElementsAre(0, 7));
  EXPECT_EQ(trace.Text(trace.activities.name[0]), "relu_kernel");
}

}  // namespace
}  // namespace orrery::simulate
