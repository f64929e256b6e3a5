#include "orrery/workload/recorded/host/replayed_host.h"

#include <string_view>
#include <tuple>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded_costs.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {

/// A step of 0–5000 in µs: relu 20–60 launches at 30–40, alias 100–104 does nothing recorded,
/// compiled code runs from 120 to 140, dropout from 150 to 170 and sort from 200 to 2700.
trace::Trace Recording() {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 5000);
  writer.Operator("aten::relu", 20, 60);
  writer.Launch(30, 40, 5000);
  writer.Operator("aten::alias", 100, 104);
  writer.Operator("Torch-Compiled Region", 120, 140);
  writer.Operator("aten::dropout", 150, 170);
  writer.Operator("aten::sort", 200, 2700);
  return writer.Finish();
}

/// A model in which alias takes 1 µs: the other 3 of the recording are the profiler's.
HostModel Model() {
  HostModel model;
  for (const auto& [part, name, cost_ns] : {std::tuple(HostPart::kStart, "aten::relu", 4'000.0),
                                            std::tuple(HostPart::kEnd, "aten::relu", 30'000.0),
                                            std::tuple(HostPart::kWhole, "aten::alias", 999.0)}) {
    model.Set(part, name, {.typical = cost_ns});
  }
  return model;
}

ReplayedHost Replayed(const HostChoice& choice) {
  const trace::Trace recording = Recording();
  return HostOfRecording(recording, RecordedSteps(recording), 0, choice);
}

double Typical(const HostModel& model, HostPart part, std::string_view name) {
  const HostCost* const cost = model.Find(part, name);
  return cost == nullptr ? -1 : cost->typical;
}

// The recording has 10 µs before relu's launch and 20 behind it: 4 remain of the first, and the 30
// of the model are bounded by the second.
TEST(ReplayedHostTest, OperatorsTakeWhatTheModelSaysButNoMoreThanRecorded) {
  const ReplayedHost host = Replayed({.model = Model(), .pace = HostPace{}});

  EXPECT_EQ(Typical(host.model, HostPart::kStart, "aten::relu"), 4'000);
  EXPECT_NEAR(Typical(host.model, HostPart::kEnd, "aten::relu"), 20'000, 1e-6);
}

// The model has no sort: the 2500 µs of the recording, less the 3.001 that the profiler took inside
// alias. The 20 µs of dropout may be the profiler's.
TEST(ReplayedHostTest, LongOperatorsWithoutANameInTheModelTakeWhatTheyTook) {
  const ReplayedHost host = Replayed({.model = Model(), .pace = HostPace{}});

  EXPECT_NEAR(Typical(host.model, HostPart::kWhole, "aten::sort"), 2'496'999, 1e-6);
  EXPECT_EQ(Typical(host.model, HostPart::kWhole, "aten::dropout"), -1);
}

// Behind sort the program waits for 2300 µs; all else is 20 + 40 + 16 + 20 + 10 + 30 µs of code.
TEST(ReplayedHostTest, WaitsAreNoCode) {
  const trace::Trace recording = Recording();
  StepCosts costs = RecordedHost(recording, RecordedSteps(recording), 0).OfProgram(0);

  EXPECT_EQ(CodeNs(costs), 136'000);
  ScaleCode(0.5, costs);
  EXPECT_EQ(CodeNs(costs), 68'000);
  EXPECT_EQ(costs.threads[0].own_ns[1], 2'300'000);
}

// A compiled function of 100–300 µs launches a kernel at 150–200: the 50 µs before it and what it
// takes are mostly the profiler's. The 100 µs behind it are the function's.
TEST(ReplayedHostTest, KernelsOfCompiledCodeAreLeftToTheModel) {
  RecordingWriter writer;
  writer.Annotation("ProfilerStep#1", 0, 500);
  writer.Operator("Torch-Compiled Region", 100, 300);
  writer.Operator("triton_poi_fused_add_0", 150, 200);
  writer.Launch(160, 170, 5000);
  const trace::Trace recording = writer.Finish();
  const StepCosts costs = RecordedHost(recording, RecordedSteps(recording), 0).OfProgram(0);

  const ThreadCosts& thread = costs.threads[0];
  EXPECT_EQ(thread.before_ns[3], ThreadCosts::kByModel);
  EXPECT_EQ(thread.own_ns[3], ThreadCosts::kByModel);
  EXPECT_EQ(thread.own_ns[2], 100'000);
}

TEST(ReplayedHostTest, ChosenMachineScalesOperatorsAndTheProgram) {
  const ReplayedHost own = Replayed({.model = Model(), .pace = HostPace{}});
  const ReplayedHost slow =
      Replayed({.model = Model(), .pace = HostPace{.operators = 2, .program = 3}});

  EXPECT_EQ(Typical(slow.model, HostPart::kStart, "aten::relu"), 8'000);
  for (std::size_t place = 0; place < own.program.threads[0].before_ns.size(); ++place) {
    const double cost_ns = own.program.threads[0].before_ns[place];
    EXPECT_NEAR(slow.program.threads[0].before_ns[place],
                cost_ns == ThreadCosts::kByModel ? cost_ns : 3 * cost_ns, 1e-6);
  }
}

// Calls: root, step, relu, its launch, alias, compiled code, dropout, sort. The program's own are
// 20 µs before relu, 40 before alias, 16 before the compiled code, 20 inside it, 10 behind it, 30
// before sort and 2300 behind it; operators of PyTorch are left to the model.
TEST(ReplayedHostTest, ProgramTakesWhatItTookBetweenOperators) {
  const trace::Trace recording = Recording();
  const std::vector<CallTree> steps = RecordedSteps(recording);
  const StepCosts costs = RecordedHost(recording, steps, 0).OfProgram(0);
  const ThreadCosts& thread = costs.threads[0];

  ASSERT_EQ(thread.before_ns.size(), 8);
  EXPECT_EQ(thread.before_ns[2], 20'000);
  EXPECT_EQ(thread.before_ns[3], ThreadCosts::kByModel);
  EXPECT_EQ(thread.before_ns[4], 40'000);
  EXPECT_EQ(thread.before_ns[5], 16'000);
  EXPECT_EQ(thread.own_ns[5], 20'000);
  EXPECT_EQ(thread.before_ns[6], 10'000);
  EXPECT_EQ(thread.own_ns[1], 2'300'000);
  EXPECT_EQ(thread.own_ns[2], ThreadCosts::kByModel);
}

}  // namespace
}  // namespace orrery::workload
