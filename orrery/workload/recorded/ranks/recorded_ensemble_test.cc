#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recordings_test.h"

namespace orrery::workload {
namespace {
using ::testing::ElementsAre;
using trace::Trace;

/// An execution trace written call by call, all on one thread.
class GraphWriter {
 public:
  GraphWriter() {
    root_ = Add("[process]", kNoRow, trace::GraphNodeKind::kRoot);
    group_ = graph.process_groups.Append({});
  }

  /// A call that reads one tensor of a storage and writes one of another.
  RowId Call(std::string_view name, int from_storage, int to_storage, RowId parent = kNoRow) {
    const RowId node =
        Add(name, parent == kNoRow ? root_ : parent, trace::GraphNodeKind::kOperator);
    graph.graph_nodes.input_values[node] = Tensor(from_storage);
    graph.graph_nodes.input_shapes[node] = graph.strings.Intern("[[4]]");
    graph.graph_nodes.input_types[node] = graph.strings.Intern(R"json(["Tensor(float)"])json");
    graph.graph_nodes.output_values[node] = Tensor(to_storage);
    graph.graph_nodes.output_shapes[node] = graph.strings.Intern("[[4]]");
    graph.graph_nodes.output_types[node] = graph.strings.Intern(R"json(["Tensor(float)"])json");
    return node;
  }

  RowId Collective(CollectiveKind kind, int storage, std::int64_t in_bytes,
                   std::int64_t out_bytes) {
    const RowId node = Call("record_param_comms", storage, storage);
    graph.collectives.Append({.name = graph.strings.Intern("collective"),
                              .kind = kind,
                              .group = group_,
                              .data_type = DataType::kFp32,
                              .in_bytes = in_bytes,
                              .out_bytes = out_bytes,
                              .graph_node = node});
    return node;
  }

  Trace graph;

 private:
  RowId Add(std::string_view name, RowId parent, trace::GraphNodeKind kind) {
    return graph.graph_nodes.Append({.id = static_cast<std::int64_t>(graph.graph_nodes.size()) + 1,
                                     .name = graph.strings.Intern(name),
                                     .kind = kind,
                                     .thread = 1,
                                     .parent = parent});
  }

  StringId Tensor(int storage) {
    return graph.strings.Intern("[[9," + std::to_string(storage) + R"json(,0,4,4,"cuda:0"]])json");
  }

  RowId root_ = kNoRow;
  RowId group_ = kNoRow;
};

std::vector<DeviceTask> OneKernel(RowId /*node*/) {
  return {{1000, "kernel"}};
}

/// Storage 1 is computed, reduced, then read; storage 2 has nothing to do with it.
Trace ReducedGraph() {
  GraphWriter writer;
  writer.Call("aten::mul", 1, 1);
  writer.Collective(CollectiveKind::kAllReduce, 1, 16, 16);
  writer.Call("aten::add", 2, 2);
  writer.Call("aten::sub", 1, 2);
  writer.Call("aten::div", 1, 2);
  return std::move(writer.graph);
}

TEST(RecordedCommunicationsTest, TheFullSideCounts) {
  GraphWriter writer;
  const RowId reduce = writer.Collective(CollectiveKind::kAllReduce, 1, 16, 16);
  const RowId gather = writer.Collective(CollectiveKind::kAllGather, 1, 16, 64);
  const RowId scatter = writer.Collective(CollectiveKind::kReduceScatter, 1, 64, 16);
  writer.Collective(CollectiveKind::kSend, 1, 16, -1);
  trace::ProblemLog problems;
  const auto communications = CommunicationsOf(writer.graph, problems);
  ASSERT_EQ(communications.size(), 3U);
  EXPECT_EQ(communications.at(reduce),
            (RecordedCommunication{"all", "all", CollectiveKind::kAllReduce, 16}));
  EXPECT_EQ(communications.at(gather),
            (RecordedCommunication{"all", "all", CollectiveKind::kAllGather, 64}));
  EXPECT_EQ(communications.at(scatter),
            (RecordedCommunication{"all", "all", CollectiveKind::kReduceScatter, 64}));
  ASSERT_EQ(problems.all().size(), 1U);  // the message
  EXPECT_TRUE(problems.has_loss());
}

TEST(RecordedCommunicationsTest, StoragesAreThoseOfTensors) {
  GraphWriter writer;
  const RowId node = writer.Call("aten::mul", 3, 5);
  EXPECT_THAT(TouchedStorages(writer.graph, node), ElementsAre(3, 5));
  EXPECT_THAT(WrittenStorages(writer.graph, node), ElementsAre(5));
}

// Kernels 0: mul, 1: the communication, 2: add, 3: sub, 4: div, behind the tasks of the host.
TEST(RecordedEnsembleTest, ACommunicationFollowsWhatWasLaunchedAndIsAwaitedWhereItsResultIsRead) {
  const Trace graph = ReducedGraph();
  const std::vector<RankGraph> ranks(2, {.graph = &graph, .price = OneKernel});
  const RecordedEnsemble recorded = EnsembleOfGraphs(ranks, HostModel{}).value();
  const Program& program = recorded.ensemble.programs[0];
  std::vector<TaskId> device;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == LaneKind::kStream) {
      device.push_back(task);
    }
  }
  ASSERT_EQ(device.size(), 5U);
  EXPECT_EQ(program.tasks.kind[device[1]], TaskKind::kCollective);
  EXPECT_NE(program.tasks.lane[device[1]], program.tasks.lane[device[0]]);
  EXPECT_EQ(program.tasks.lane[device[2]], program.tasks.lane[device[0]]);
  EXPECT_THAT(program.edges.from, ElementsAre(device[0], device[1]));
  EXPECT_THAT(program.edges.to, ElementsAre(device[1], device[3]));  // add need not wait
  EXPECT_EQ(program.communications.bytes[0], 16);
  EXPECT_TRUE(recorded.problems.all().empty());
}

TEST(RecordedEnsembleTest, RanksThatSpeakInAGroupAreItsMembers) {
  const Trace graph = ReducedGraph();
  GraphWriter silent;
  silent.Call("aten::mul", 1, 1);
  const std::vector<RankGraph> ranks{{.graph = &graph, .price = OneKernel},
                                     {.graph = &silent.graph, .price = OneKernel},
                                     {.graph = &graph, .price = OneKernel}};
  const Ensemble ensemble = EnsembleOfGraphs(ranks, HostModel{}).value().ensemble;
  ASSERT_EQ(ensemble.num_roles, 1U);
  EXPECT_THAT(ensemble.Members(ensemble.GroupOf(0, 0)), ElementsAre(0, 2));
  EXPECT_EQ(ensemble.GroupOf(1, 0), kNoGroup);
}

TEST(RecordedEnsembleTest, ARankBeginsLater) {
  const Trace graph = ReducedGraph();
  const std::vector<RankGraph> ranks{{.graph = &graph, .price = OneKernel},
                                     {.graph = &graph, .price = OneKernel, .begin_ps = 70'000}};
  const Ensemble ensemble = EnsembleOfGraphs(ranks, HostModel{}).value().ensemble;
  const auto sum_of = [&](ProgramId program) {
    std::int64_t sum = 0;
    for (const std::int64_t duration_ps : ensemble.programs[program].tasks.duration_ps) {
      sum += duration_ps;
    }
    return sum;
  };
  EXPECT_EQ(sum_of(1) - sum_of(0), 70'000);
}

TEST(RecordedEnsembleTest, ARankWithoutAGraphIsRefused) {
  const Trace empty;
  const std::vector<RankGraph> ranks{{.graph = &empty, .price = OneKernel}};
  EXPECT_EQ(EnsembleOfGraphs(ranks, HostModel{}).error().message(),
            "rank 0 has no execution trace");
}

TEST(GroupRoleUnionTest, ProgramsGetTheGroupRolesOfAllByName) {
  std::vector<Program> programs(2);
  programs[0].AddRole("tp", "tp");
  programs[0].AddRole("dp", "dp");
  programs[1].AddRole("pp", "pp");
  programs[1].AddRole("tp", "tp");
  programs[1].communications.Append({.role = 1});
  programs[1].communications.Append({.role = 0});
  UniteGroupRoles(programs);
  for (const Program& program : programs) {
    ASSERT_EQ(program.roles.size(), 3U);
    EXPECT_EQ(program.RoleName(0), "tp");
    EXPECT_EQ(program.RoleName(1), "dp");
    EXPECT_EQ(program.RoleName(2), "pp");
  }
  EXPECT_THAT(programs[1].communications.role, ElementsAre(0, 2));
}

// A call that launches a kernel behind one that it calls, and that waits for the GPU: the wait is
// before the launch, so it cannot be for that kernel.
TEST(RecordedProgramTest, TheHostDoesNotWaitForWhatItLaunchesLater) {
  GraphWriter writer;
  const RowId outer = writer.Call("aten::index_put", 1, 1);
  writer.Call("aten::nonzero", 1, 2, outer);
  const CallTree step = GraphSteps(writer.graph).value().front();

  const Program program = ProgramOfGraph(writer.graph, step, HostModel{}, OneKernel).program;

  std::size_t num_waited = 0;
  for (std::size_t edge = 0; edge < program.edges.size(); ++edge) {
    const TaskId to = program.edges.to[edge];
    if (program.tasks.kind[to] == TaskKind::kSynchronize) {
      EXPECT_LT(program.tasks.launch[program.edges.from[edge]], to);
      ++num_waited;
    }
  }
  EXPECT_EQ(num_waited, 1U);  // for the kernel of the call that waits
}

// Both kernels take 40 while the other runs beside them from 30 to 50: alone they take 30.
TEST(RecordedProgramTest, KernelsOfSeveralStreamsTakeTheirTimeAloneAndShareTheGpu) {
  RecordingWriter writer;
  writer.Operator("aten::relu", 0, 9);
  writer.Launch(1, 2, 40'000, 10);
  writer.SwitchStream(20);
  writer.Launch(3, 4, 40'000, 30);

  const Program program = ProgramOfMiddleStep(writer.Finish(), {}).program;

  std::vector<std::int64_t> times_ps;
  std::vector<std::uint32_t> shares;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.tasks.kind[task] == TaskKind::kKernel) {
      times_ps.push_back(program.tasks.duration_ps[task]);
      shares.push_back(program.parts.sm_share[program.tasks.part[task]]);
    }
  }
  EXPECT_THAT(times_ps, ElementsAre(30'000'000, 30'000'000));
  EXPECT_THAT(shares, ElementsAre(1'000'000, 1'000'000));
}

// The thread that waits runs a node of the host itself; the engine's thread begins with one.
TEST(CallTreeTest, TheThreadThatWaitsIsNotTheEngines) {
  Trace graph;
  const auto add = [&](std::int64_t id, std::string_view name, std::int32_t thread, RowId parent,
                       trace::GraphNodeKind kind) {
    return graph.graph_nodes.Append({.id = id,
                                     .name = graph.strings.Intern(name),
                                     .kind = kind,
                                     .thread = thread,
                                     .parent = parent});
  };
  using enum trace::GraphNodeKind;
  constexpr std::string_view kNode = "autograd::engine::evaluate_function: AccumulateGrad";
  const RowId root = add(1, "[process]", 0, kNoRow, kRoot);
  const RowId range = add(2, "## backward ##", 1, root, kAnnotation);
  add(3, kNode, 2, root, kOperator);
  add(4, "aten::as_strided", 2, root, kOperator);
  add(5, "aten::select", 2, root, kOperator);
  add(6, kNode, 1, range, kOperator);
  const CallTree step = GraphSteps(graph).value().front();
  ASSERT_EQ(step.threads.size(), 2U);
  EXPECT_FALSE(step.threads[0].runs_backward);
  EXPECT_TRUE(step.threads[1].runs_backward);
}

TEST(HostModelTest, AnOptimizerWalksItsParametersUnlessItCallsForEach) {
  EXPECT_TRUE(IsListWalk("Optimizer.step#AdamW.step", 2, 148));
  EXPECT_TRUE(IsListWalk("Optimizer.zero_grad#SGD.zero_grad", 0, 1));
  EXPECT_FALSE(IsListWalk("Optimizer.step#Adagrad.step", 108, 16));
  EXPECT_FALSE(IsListWalk("## forward ##", 2, 148));
}

TEST(HostModelTest, MeansReplaceTypicalCostsOfNames) {
  HostModel model;
  model.Set(HostPart::kWhole, "aten::mul", {.typical = 5, .mean = 8, .count = 3});
  model.Set(HostPart::kWhole, "*plain", {.typical = 5, .mean = 9, .count = 3});
  model.Set(HostPart::kLaunches, "aten::mul", {.typical = 1, .mean = 1.5, .count = 3});
  const HostModel means = WithMeans(model);
  EXPECT_EQ(means.Find(HostPart::kWhole, "aten::mul")->typical, 8);
  EXPECT_EQ(means.Find(HostPart::kWhole, "*plain")->typical, 5);
  EXPECT_EQ(means.Find(HostPart::kLaunches, "aten::mul")->typical, 1);
}

}  // namespace
}  // namespace orrery::workload
