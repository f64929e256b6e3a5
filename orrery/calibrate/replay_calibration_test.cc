#include "orrery/calibrate/replay_calibration.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/ingest/run.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/replay.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recorded_costs.h"
#include "orrery/workload/recorded/recordings_test.h"
#include "test_paths.h"

namespace orrery::calibrate {
namespace {

using simulate::SimulateSingleRank;
using simulate::StepFigures;
using trace::Trace;
using workload::RecordingWriter;

/// A hundred operators of 10 µs, one behind the other, each with a launch of 2 µs; kernels of
/// `kernel_ns`.
Trace Recording(std::int64_t kernel_ns) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 1000);
  for (std::int64_t at = 0; at < 1000; at += 10) {
    writer.Operator("aten::relu", at, at + 10);
    writer.Launch(at + 4, at + 6, kernel_ns);
  }
  return writer.Finish();
}

/// Replays the middle step of a recording: its kernels, and its host without the profiler.
StepFigures ReplayStep(const Trace& recording, const ReplayCalibration& calibration) {
  const std::vector<workload::CallTree> steps = workload::RecordedSteps(recording);
  const std::size_t which = steps.size() / 2;
  const workload::StepCosts costs =
      workload::RecordedHost(recording, steps, which).Without(calibration.profiler_cost_ns);
  const workload::Program program =
      workload::ProgramOfRecording(recording, steps[which], calibration.host, {}, &costs).program;
  return FiguresOf(program, SimulateSingleRank(program, {.repetitions = 4}).value());
}

double Milliseconds(std::int64_t picoseconds) {
  return static_cast<double>(picoseconds) * 1e-9;
}

// 1 ms as recorded. Each operator and its launch are 1.5 events, the step 0.4 (its part inside):
// 150.4 events; so 0.7 ms are 0.3 ms / 150.4 = 1.995 µs an event.
TEST(ReplayCalibrationTest, CostOfAnEventMakesTheIssueTimeTheMeasuredOne) {
  const Trace recording = Recording(100);

  const auto found = CalibrateReplay(recording, {.step_ms = {0.9}, .issue_ms = {0.6, 0.7, 0.8}});

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, ProfilerCostSource::kIssue);
  EXPECT_NEAR(found->profiler_cost_ns, 1995, 12);
  EXPECT_EQ(found->measured_ms, 0.7);
  EXPECT_NEAR(found->replayed_ms, 0.7, 0.002);
  const StepFigures replayed = ReplayStep(recording, *found);
  EXPECT_NEAR(Milliseconds(replayed.step_ps), 0.7, 0.002);
  EXPECT_EQ(replayed.kernels, 100);
}

TEST(ReplayCalibrationTest, StepsDoWhereTheIssueTimeWasNotMeasured) {
  const auto found = CalibrateReplay(Recording(100), {.step_ms = {0.8}});

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, ProfilerCostSource::kStep);
  EXPECT_NEAR(found->replayed_ms, 0.8, 0.002);
}

// Steps of a run take 0.8 ms, so the host issues one in no more: 0.9 ms behind a synchronisation
// is not what a run has.
TEST(ReplayCalibrationTest, StepsOfARunBoundTheTimeToIssueOne) {
  const auto found =
      CalibrateReplay(Recording(100), {.step_ms = {0.8, 0.8}, .issue_ms = {0.9, 0.95}});

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, ProfilerCostSource::kStep);
  EXPECT_NEAR(found->replayed_ms, 0.8, 0.002);
}

// Kernels of 50 µs: 5 ms a step, whatever the host costs.
TEST(ReplayCalibrationTest, StepThatTheGpuBindsTellsNothingAboutTheHost) {
  const Trace recording = Recording(50'000);

  const auto found = CalibrateReplay(recording, {.step_ms = {5.1}});

  ASSERT_TRUE(found.has_value());
  EXPECT_EQ(found->source, ProfilerCostSource::kShared);
  EXPECT_EQ(found->profiler_cost_ns, workload::DefaultHost().profiler_cost_ns);
}

// More than was recorded: no profiler makes a program faster, so what is missing remains.
TEST(ReplayCalibrationTest, SlowerThanRecordedLeavesTheHostAsItIs) {
  const auto found = CalibrateReplay(Recording(100), {.issue_ms = {1.2}});

  ASSERT_TRUE(found.has_value());
  EXPECT_NEAR(found->profiler_cost_ns, 0, 1e-9);
  EXPECT_EQ(found->measured_ms, 1.2);
  EXPECT_NEAR(found->replayed_ms, 1.0, 0.002);
}

/// Steps without the profiler in two runs (../shared/truth/h200_steps.csv).
struct MeasuredModel {
  std::string name;
  double least_ms = 0;
  double most_ms = 0;
  double tolerance = 0;
};

// The cost of an event is the shared one, 4.2 µs: the median of many recordings, whose own are
// between 2.2 and 8.5 µs. It does not matter where the GPU binds the step; where the host does, the
// replay of a recording whose own cost is not known is a quarter off (own costs of these: 5.0, 2.8,
// 2.8 and 3.7 µs).
class SharedCostTest : public testing::TestWithParam<MeasuredModel> {};

TEST_P(SharedCostTest, ReplayIsNearTheMeasuredSteps) {
  const std::string path = ORRERY_SHARED "/traces/h200/" + GetParam().name + ".kineto.json.gz";
  if (!std::filesystem::exists(path)) {
    GTEST_SKIP() << "the recording is not here: " << path;
  }
  const ingest::Run run = ingest::ReadRun({path}).value();
  const Trace& recording = run.set.ranks[0];

  const ReplayCalibration shared = CalibrateReplay(recording, {}).value();
  const StepFigures replayed = ReplayStep(recording, shared);

  EXPECT_EQ(shared.source, ProfilerCostSource::kShared);
  EXPECT_GT(Milliseconds(replayed.step_ps), (1 - GetParam().tolerance) * GetParam().least_ms);
  EXPECT_LT(Milliseconds(replayed.step_ps), (1 + GetParam().tolerance) * GetParam().most_ms);
}

INSTANTIATE_TEST_SUITE_P(H200, SharedCostTest,
                         testing::Values(MeasuredModel{"gpt2-xl-b8", 258.99, 262.45, 0.02},
                                         MeasuredModel{"llama-1b-s2048-b4", 166.78, 167.61, 0.02},
                                         MeasuredModel{"gpt2-small-b4", 24.78, 29.79, 0.25},
                                         MeasuredModel{"resnet50-b64", 27.87, 28.40, 0.25},
                                         MeasuredModel{"dlrm-b2048", 15.99, 16.79, 0.25},
                                         MeasuredModel{"bert-large-b16", 60.13, 65.29, 0.25}),
                         [](const auto& model) {
                           std::string name = model.param.name;
                           std::erase(name, '-');
                           return name;
                         });

}  // namespace
}  // namespace orrery::calibrate
