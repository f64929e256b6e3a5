#include "orrery/workload/recorded/call_tree.h"

#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace orrery::workload {
namespace {

using testing::HasSubstr;

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

TEST(GraphStepsTest, SeveralStepsWithoutMarkersAreRefused) {
  Graph graph;
  graph.Add("Optimizer.step#AdamW.step", 1);
  graph.Add("Optimizer.step#AdamW.step", 1);

  const auto steps = GraphSteps(graph.trace);

  ASSERT_FALSE(steps.has_value());
  EXPECT_THAT(steps.error().message(), HasSubstr("Optimizer.step#AdamW.step"));
  EXPECT_THAT(steps.error().message(), HasSubstr("ProfilerStep#"));
}

}  // namespace
}  // namespace orrery::workload
