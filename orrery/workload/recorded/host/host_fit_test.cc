#include "orrery/workload/recorded/host/host_fit.h"

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {

using trace::Trace;

/// A step of 0–200: relu 20–60 launches at 30–40, view 100–104 does nothing recorded.
Trace Recording(std::int64_t pace = 1) {
  RecordingWriter writer(pace);
  writer.Annotation("ProfilerStep#1", 0, 200);
  writer.Operator("aten::relu", 20, 60);
  writer.Launch(30, 40, 5000);
  writer.Operator("aten::view", 100, 104);
  return writer.Finish();
}

double Typical(const HostModel& model, HostPart part, std::string_view name) {
  const HostCost* cost = model.Find(part, name);
  return cost == nullptr ? -1 : cost->typical;
}

// relu: 10 before its launch, 20 after it; the launch 10; view 4 in one piece. Gaps: 20 before
// relu, 40 before view, and 96 from view to the end of the step.
TEST(HostFitTest, OwnTimesOfOneRecordingAddUpToIt) {
  HostFit fit;
  fit.Add(Recording());

  const HostModel model = fit.Fit({});

  EXPECT_NEAR(Typical(model, HostPart::kStart, "aten::relu"), 10'000, 1e-6);
  EXPECT_NEAR(Typical(model, HostPart::kEnd, "aten::relu"), 20'000, 1e-6);
  EXPECT_NEAR(Typical(model, HostPart::kLaunch, "cudaLaunchKernel"), 10'000, 1e-6);
  EXPECT_NEAR(Typical(model, HostPart::kWhole, "aten::view"), 4'000, 1e-6);
  EXPECT_NEAR(Typical(model, HostPart::kGap, "aten::relu"), 20'000, 1e-6);
  EXPECT_NEAR(Typical(model, HostPart::kGap, "aten::view"), 40'000, 1e-6);
  EXPECT_NEAR(Typical(model, HostPart::kRest, "ProfilerStep"), 96'000, 1e-6);
  EXPECT_EQ(Typical(model, HostPart::kLaunches, "aten::relu"), 1);
  EXPECT_EQ(Typical(model, HostPart::kLaunches, "aten::view"), 0);
}

// Events: relu and view, their launch as a half, and of the step the 0.4 that are inside it; the
// rest is around it. So 2.9 times the cost in all. Each time keeps a tenth at least; none comes
// near it.
TEST(HostFitTest, ProfilerCostIsTakenOffOncePerEvent) {
  HostFit fit;
  fit.Add(Recording());
  const auto sum = [](const HostModel& model) {
    return Typical(model, HostPart::kStart, "aten::relu") +
           Typical(model, HostPart::kEnd, "aten::relu") +
           Typical(model, HostPart::kLaunch, "cudaLaunchKernel") +
           Typical(model, HostPart::kWhole, "aten::view") +
           Typical(model, HostPart::kGap, "aten::relu") +
           Typical(model, HostPart::kGap, "aten::view") +
           Typical(model, HostPart::kRest, "ProfilerStep");
  };

  EXPECT_NEAR(sum(fit.Fit({})), 200'000, 1e-6);
  EXPECT_NEAR(sum(fit.Fit({.profiler_costs_ns = {1000}})), 197'100, 1e-6);
}

// The same program on machines of pace 1, 1, 1 and 3: the slow one was disturbed and changes
// nothing, as a quarter of the threads reach pace 1.
TEST(HostFitTest, SlowThreadsDoNotMakeCostsLarger) {
  HostFit fit;
  for (const std::int64_t pace : {1, 3, 1, 1}) {
    fit.Add(Recording(pace));
  }

  EXPECT_NEAR(Typical(fit.Fit({}), HostPart::kStart, "aten::relu"), 10'000, 1e-3);
}

TEST(HostFitTest, RecordingThatIsLeftOutLeavesNoTrace) {
  RecordingWriter other;
  other.Annotation("ProfilerStep#1", 0, 100);
  other.Operator("aten::only_here", 10, 20);
  other.Launch(12, 14, 5000);
  HostFit fit;
  fit.Add(Recording());
  const std::size_t number = fit.Add(other.Finish());

  const HostModel with = fit.Fit({});
  const HostModel without = fit.Fit({.without = {number}});

  EXPECT_NE(with.Find(HostPart::kStart, "aten::only_here"), nullptr);
  EXPECT_EQ(without.Find(HostPart::kStart, "aten::only_here"), nullptr);
}

TEST(HostFitTest, UnknownOperatorCostsWhatItsKindDoes) {
  HostFit fit;
  fit.Add(Recording());
  const HostModel model = fit.Fit({});

  const HostAnswer launching = model.Get(HostPart::kStart, "aten::unseen", true);
  const HostAnswer plain = model.Get(HostPart::kWhole, "aten::unseen", false);

  EXPECT_EQ(launching.source, HostCostSource::kKind);
  EXPECT_NEAR(launching.value, 10'000, 1e-6);
  EXPECT_EQ(plain.source, HostCostSource::kKind);
  EXPECT_NEAR(plain.value, 4'000, 1e-6);
}

TEST(HostFitTest, ModelReadsBackFromItsTable) {
  HostFit fit;
  fit.Add(Recording());
  const HostModel model = fit.Fit({.profiler_costs_ns = {500}});

  const Result<Table> table = ParseCsv(FormatCsv(HostTable(model)));
  ASSERT_TRUE(table.has_value());
  const Result<HostModel> read = HostModelOf(*table);

  ASSERT_TRUE(read.has_value());
  EXPECT_EQ(read->entries(), model.entries());
  EXPECT_EQ(read->profiler_cost_ns, 500);
}

TEST(HostModelTest, NamesAreComparedWithoutWhatCounts) {
  EXPECT_EQ(BaseName("ProfilerStep#3"), "ProfilerStep");
  EXPECT_EQ(BaseName("Optimizer.step#AdamW.step"), "Optimizer.step");
  EXPECT_EQ(BaseName("## Call CompiledFxGraph f3hx ##"), "## Call CompiledFxGraph f3hx ##");
}

TEST(HostModelTest, BadRowIsNamedByItsLine) {
  const Result<Table> negative = ParseCsv("part,name,typical\nwhole,a,1\nwhole,b,-1\n");
  const Result<Table> unknown = ParseCsv("part,name,typical\nhole,a,1\n");

  EXPECT_THAT(HostModelOf(*negative).error().message(), ::testing::HasSubstr("line 3"));
  EXPECT_THAT(HostModelOf(*unknown).error().message(), ::testing::HasSubstr("hole"));
}

// The program of the recorded step has its host times, and its kernel behind the launch.
TEST(RecordedTest, ProgramOfARecordingHasItsTimes) {
  const Trace recording = Recording();
  HostFit fit;
  fit.Add(recording);
  const RecordedProgram recorded =
      ProgramOfRecording(recording, RecordedSteps(recording).front(), fit.Fit({}));
  const Program& program = recorded.program;

  std::int64_t host_ps = 0;
  std::int64_t kernels = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const bool is_kernel = program.tasks.kind[task] == TaskKind::kKernel;
    host_ps += is_kernel ? 0 : program.tasks.duration_ps[task];
    kernels += is_kernel ? 1 : 0;
  }

  EXPECT_EQ(host_ps, 200'000'000);
  EXPECT_EQ(kernels, 1);
  EXPECT_EQ(recorded.coverage.operators, 2);
  EXPECT_EQ(recorded.coverage.launches, 1);
  EXPECT_EQ(recorded.coverage.lookups[static_cast<std::size_t>(HostCostSource::kNothing)], 0);
}

Trace Graph() {
  Trace graph;
  const auto add = [&](std::int64_t id, const std::string& name, std::int32_t thread, RowId parent,
                       trace::GraphNodeKind kind = trace::GraphNodeKind::kOperator) {
    return graph.graph_nodes.Append({.id = id,
                                     .name = graph.strings.Intern(name),
                                     .kind = kind,
                                     .thread = thread,
                                     .parent = parent});
  };
  using enum trace::GraphNodeKind;
  const RowId root = add(1, "[process]", 0, kNoRow, kRoot);
  add(2, "aten::relu", 1, root);
  const RowId backward = add(3, "autograd::engine::evaluate_function: ReluBackward0", 2, root);
  add(4, "aten::threshold_backward", 2, backward);
  add(5, "aten::add_", 1, root);
  return graph;
}

// The main thread pauses between relu and add_ for the backward pass, which waits for relu.
TEST(RecordedTest, BackwardThreadOfAGraphTakesItsTurn) {
  const Trace graph = Graph();
  const PriceNode price = [](RowId node) {
    return node == 1 || node == 3 || node == 4 ? std::vector<DeviceTask>{{1000, "kernel"}}
                                               : std::vector<DeviceTask>{};
  };
  const CallTree step = GraphSteps(graph).value().front();
  const RecordedProgram recorded = ProgramOfGraph(graph, step, HostModel{}, price);
  const Program& program = recorded.program;

  ASSERT_EQ(step.threads.size(), 2);
  EXPECT_FALSE(step.threads[0].runs_backward);
  EXPECT_TRUE(step.threads[1].runs_backward);
  EXPECT_EQ(recorded.coverage.launches, 3);
  ASSERT_EQ(program.edges.size(), 2);
  const auto lane_of = [&](TaskId task) { return program.tasks.lane[task]; };
  EXPECT_EQ(lane_of(program.edges.from[0]), 0);
  EXPECT_EQ(lane_of(program.edges.to[0]), 1);
  EXPECT_EQ(lane_of(program.edges.from[1]), 1);
  EXPECT_EQ(lane_of(program.edges.to[1]), 0);
}

TEST(HostModelTest, NamesOfPyTorchAreNotTheProgramsOwn) {
  for (const char* name : {"aten::view", "MulBackward0", "torch::autograd::AccumulateGrad",
                           "autograd::engine::evaluate_function: MyFunctionBackward"}) {
    EXPECT_FALSE(IsOfProgram(name)) << name;
  }
  for (const char* name : {"MyFunction", "MyFunctionBackward", "Torch-Compiled Region: 0/0"}) {
    EXPECT_TRUE(IsOfProgram(name)) << name;
  }
}

}  // namespace
}  // namespace orrery::workload
