#include "orrery/workload/recorded/call_tree.h"

#include <cstdint>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {
namespace {

class Graph {
 public:
  RowId Add(std::string_view name, int thread, RowId parent = kNoRow) {
    const bool is_annotation = name.find('#') != std::string_view::npos;
    return trace.graph_nodes.Append({.id = static_cast<std::int64_t>(trace.graph_nodes.size()) + 1,
                                     .name = trace.strings.Intern(name),
                                     .kind = is_annotation ? trace::GraphNodeKind::kAnnotation
                                                           : trace::GraphNodeKind::kOperator,
                                     .thread = thread,
                                     .parent = parent});
  }

  /// A marker with a call below it, then the backward pass on a thread of its own.
  void AddStep(std::string_view marker) {
    Add("aten::mm", 1, Add(marker, 1));
    Add("torch::autograd::AccumulateGrad", 2);
    Add("torch::autograd::AccumulateGrad", 2);
  }

  trace::Trace trace;
};

// Three steps of two parameters each: not one step of six.
TEST(GraphStepsTest, MarkersSplitAllThreads) {
  Graph graph;
  graph.AddStep("ProfilerStep#2");
  graph.AddStep("ProfilerStep#3");
  graph.AddStep("ProfilerStep#4");

  const auto steps = GraphSteps(graph.trace);

  ASSERT_TRUE(steps.has_value());
  ASSERT_EQ(steps->size(), 3);
  for (const CallTree& step : *steps) {
    EXPECT_EQ(step.num_parameters, 2);
    ASSERT_EQ(step.threads.size(), 2);
    EXPECT_EQ(step.threads[0].calls.size(), 3);  // the thread, the marker and its call
    EXPECT_EQ(step.threads[1].calls.size(), 3);
  }
  EXPECT_EQ(MiddleStep(*steps).threads[0].calls[1].name,
            graph.trace.strings.Intern("ProfilerStep#3"));
}

TEST(GraphStepsTest, WithoutMarkersTheTraceIsOneStep) {
  Graph graph;
  graph.Add("aten::mm", 1);
  graph.Add("Optimizer.step#AdamW.step", 1);

  const auto steps = GraphSteps(graph.trace);

  ASSERT_TRUE(steps.has_value());
  EXPECT_EQ(steps->size(), 1);
}

// Three calls of one optimizer: two whole steps lie between them. The first begins in the middle
// of a step (a product is missing), and what follows the last is not a step.
TEST(GraphStepsTest, WithoutMarkersStepsEndWithTheOptimizer) {
  Graph graph;
  graph.Add("Optimizer.step#AdamW.step", 1);
  for (int step = 0; step < 2; ++step) {
    graph.Add("aten::zero_", 1);
    graph.Add("aten::mm", 1);
    graph.Add("torch::autograd::AccumulateGrad", 2);
    graph.Add("aten::_foreach_add", 1, graph.Add("Optimizer.step#AdamW.step", 1));
  }
  graph.Add("aten::zero_", 1);

  const auto steps = GraphSteps(graph.trace);

  ASSERT_TRUE(steps.has_value());
  ASSERT_EQ(steps->size(), 2);
  for (const CallTree& step : *steps) {
    EXPECT_EQ(step.num_parameters, 1);
    ASSERT_EQ(step.threads.size(), 2);
    EXPECT_EQ(step.threads[0].calls.size(), 5);  // the thread, three calls and the optimizer's
  }
}

// A generator and its critic, which takes two steps for each of the other's: one step of training.
TEST(GraphStepsTest, AStepMayHaveSeveralOptimizers) {
  Graph graph;
  graph.Add("Optimizer.step#Adam.step", 1);
  graph.Add("Optimizer.step#Adam.step", 1);
  graph.Add("Optimizer.step#SGD.step", 1);

  EXPECT_EQ(GraphSteps(graph.trace)->size(), 1);
  EXPECT_EQ(GraphSteps(graph.trace)->front().threads[0].calls.size(), 4);
}

// Two optimizers of one kind: the profile beside the trace says that a step has two calls.
TEST(GraphStepsTest, AProfileSaysHowManyCallsAStepHas) {
  Graph graph;
  const StringId name = graph.trace.strings.Intern("Optimizer.step#Adam.step");
  graph.Add("Optimizer.step#Adam.step", 1);
  graph.Add("Optimizer.step#Adam.step", 1);
  EXPECT_EQ(GraphSteps(graph.trace)->front().threads[0].calls.size(), 2);
  graph.trace.steps.Append({.begin_ns = 0, .duration_ns = 100, .number = 1});
  graph.trace.annotations.Append({.begin_ns = 10, .duration_ns = 5, .name = name});
  graph.trace.annotations.Append({.begin_ns = 20, .duration_ns = 5, .name = name});

  const auto steps = GraphSteps(graph.trace);

  ASSERT_EQ(steps->size(), 1);
  EXPECT_EQ(steps->front().threads[0].calls.size(), 3);  // both are of the one step
}

// As PyTorch wraps the step of an optimizer that has been wrapped already.
TEST(GraphStepsTest, AnOptimizerInsideOfAnOtherStepsOnce) {
  Graph graph;
  graph.Add("Optimizer.step#AdamW.step", 1, graph.Add("Optimizer.step#AdamW.step", 1));

  EXPECT_EQ(GraphSteps(graph.trace)->size(), 1);
}

// A node of the backward pass runs two operators of the forward pass again, one below the other,
// and one of its own, which autograd does not record.
TEST(CallTreeTest, OperatorsOfTheForwardPassInTheBackwardPassAreRecomputed) {
  Graph graph;
  graph.trace.graph_nodes.sequence[graph.Add("aten::linear", 1)] = 5;
  const RowId node = graph.Add("MulBackward0", 2,
                               graph.Add("autograd::engine::evaluate_function: MulBackward0", 2));
  graph.trace.graph_nodes.sequence[node] = 5;
  graph.trace.graph_nodes.forward_thread[node] = 1;
  const RowId linear = graph.Add("aten::linear", 2, node);
  graph.trace.graph_nodes.sequence[linear] = 9;
  graph.trace.graph_nodes.sequence[graph.Add("aten::mm", 2, linear)] = 9;
  graph.Add("aten::mul", 2, node);

  const auto steps = GraphSteps(graph.trace);

  ASSERT_TRUE(steps.has_value());
  const CallTree& step = (*steps)[0];
  const ThreadCalls& backward = step.threads[1];
  EXPECT_TRUE(IsRecomputed(backward, backward.calls[2], backward.calls[3]));
  EXPECT_FALSE(IsRecomputed(backward, backward.calls[3], backward.calls[4]));  // linear's own
  EXPECT_FALSE(IsRecomputed(backward, backward.calls[2], backward.calls[5]));
}

// As torch.func.grad runs the backward pass: its own calls may be differentiated again.
TEST(CallTreeTest, SecondDerivativesAreNotRecomputation) {
  Graph graph;
  graph.trace.graph_nodes.sequence[graph.Add("aten::linear", 1)] = 5;
  const RowId wrapper = graph.Add("autograd::engine::evaluate_function: AddmmBackward0", 2);
  const RowId node = graph.Add("AddmmBackward0", 2, wrapper);
  for (const RowId parent : {node, node, wrapper}) {
    graph.trace.graph_nodes.sequence[graph.Add("aten::mm", 2, parent)] = 9;
  }

  const auto steps = GraphSteps(graph.trace);

  ASSERT_TRUE(steps.has_value());
  const ThreadCalls& backward = (*steps)[0].threads[1];
  for (const std::size_t call : {3U, 4U}) {
    EXPECT_FALSE(IsRecomputed(backward, backward.calls[2], backward.calls[call]));
  }
  EXPECT_FALSE(IsRecomputed(backward, backward.calls[1], backward.calls[5]));
}

// Two of the operators that the backward pass runs are of the forward pass: 30 µs of hooks each.
TEST(CallTreeTest, HooksAroundRecomputedOperatorsCostTheHost) {
  Graph graph;
  const RowId node = graph.Add("autograd::engine::evaluate_function: MulBackward0", 2);
  graph.Add("aten::mul", 2, node);
  for (const char* name : {"aten::linear", "aten::relu"}) {
    graph.trace.graph_nodes.sequence[graph.Add(name, 2, node)] = 9;
  }
  HostModel host;
  host.Set(HostPart::kRecompute, "*", {.typical = 30'000});
  const auto steps = GraphSteps(graph.trace);
  ASSERT_TRUE(steps.has_value());

  const RecordedProgram recorded = ProgramOfGraph(graph.trace, (*steps)[0], host,
                                                  [](RowId) { return std::vector<DeviceTask>(); });

  EXPECT_EQ(recorded.coverage.recomputed, 2);
  const auto& durations_ps = recorded.program.tasks.duration_ps;
  EXPECT_EQ(std::accumulate(durations_ps.begin(), durations_ps.end(), std::int64_t{0}), 60'000'000);
}

// Recomputation that stops early leaves a node by an exception, behind which its own formula is not
// found. Nodes beside it make calls that autograd does not record.
TEST(CallTreeTest, ANodeAloneThatOnlyMakesRecordedCallsRecomputes) {
  Graph graph;
  const auto add_node = [&](const std::string& name, std::string_view call) {
    const RowId wrapper = graph.Add("autograd::engine::evaluate_function: " + name, 2);
    return graph.Add(call, 2, graph.Add(name, 2, wrapper));
  };
  add_node("MulBackward0", "aten::mul");
  graph.trace.graph_nodes.sequence[add_node("AddmmBackward0", "aten::linear")] = 9;
  add_node("MulBackward0", "aten::mul");

  const auto steps = GraphSteps(graph.trace);

  ASSERT_TRUE(steps.has_value());
  const ThreadCalls& backward = (*steps)[0].threads[0];
  EXPECT_TRUE(IsRecomputed(backward, backward.calls[5], backward.calls[6]));
}

// A node that is differentiated again makes two calls, one below the other, and its wrapper adds a
// gradient: autograd records all three, and no hook runs.
TEST(CallTreeTest, SecondDerivativesCostTheHostNoHooks) {
  Graph graph;
  const RowId wrapper = graph.Add("autograd::engine::evaluate_function: AddmmBackward0", 2);
  const RowId node = graph.Add("AddmmBackward0", 2, wrapper);
  const RowId product = graph.Add("aten::matmul", 2, node);
  const RowId inner = graph.Add("aten::mm", 2, product);
  for (const RowId call : {product, inner, graph.Add("aten::add", 2, wrapper)}) {
    graph.trace.graph_nodes.sequence[call] = 9;
  }
  HostModel host;
  host.Set(HostPart::kRecompute, "*", {.typical = 30'000});
  const auto steps = GraphSteps(graph.trace);
  ASSERT_TRUE(steps.has_value());

  const RecordedProgram recorded = ProgramOfGraph(graph.trace, (*steps)[0], host,
                                                  [](RowId) { return std::vector<DeviceTask>(); });

  EXPECT_EQ(recorded.coverage.recomputed, 0);
}

}  // namespace
}  // namespace orrery::workload
