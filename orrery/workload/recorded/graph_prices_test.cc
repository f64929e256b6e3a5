#include "orrery/workload/recorded/graph_prices.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/document/csv.h"
#include "orrery/base/text/table.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {
namespace {

/// Every operator takes 9 ns.
class NineNanoseconds : public kernel::CostModel {
 public:
  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu&,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i] = {.seconds = 9e-9, .source = kernel::EstimateSource::kThisGpu};
    }
  }
};

/// One node: the ReLU of a matrix of 4 × 8.
trace::Trace Relu() {
  trace::Trace graph;
  const auto intern = [&](const char* text) { return graph.strings.Intern(text); };
  graph.graph_nodes.Append({.id = 1,
                            .name = intern("aten::relu"),
                            .input_values = intern(R"json([[8,9,0,32,4,"cuda:0"]])json"),
                            .input_shapes = intern("[[4,8]]"),
                            .input_types = intern(R"json(["Tensor(float)"])json"),
                            .output_values = intern(R"json([[8,9,0,32,4,"cuda:0"]])json"),
                            .output_shapes = intern("[[4,8]]"),
                            .output_types = intern(R"json(["Tensor(float)"])json")});
  return graph;
}

std::vector<std::int64_t> Durations(const HostModel& host) {
  const trace::Trace graph = Relu();
  const GraphPrices prices = PriceGraph(graph, GraphSteps(graph).value().front(), hardware::Gpu{},
                                        NineNanoseconds(), host);
  std::vector<std::int64_t> durations;
  for (const DeviceTask& task : prices.tasks_of_node[0]) {
    durations.push_back(task.duration_ps);
  }
  return durations;
}

// The launches of relu are not known: one. Measured, its kind launches three kernels; recorded, the
// operator itself two, which counts more. The time is spread over them.
TEST(GraphPricesTest, TimeIsSpreadOverTheLaunchesThatAreKnownBest) {
  HostModel host;
  EXPECT_THAT(Durations(host), ::testing::ElementsAre(9000));

  host.Set(HostPart::kLaunches, "elementwise", {.typical = 3});
  EXPECT_THAT(Durations(host), ::testing::ElementsAre(3000, 3000, 3000));

  host.Set(HostPart::kLaunches, "aten::relu", {.typical = 2});
  EXPECT_THAT(Durations(host), ::testing::ElementsAre(4500, 4500));
}

/// An element takes 1 ns.
class OneNanosecondAnElement : public kernel::CostModel {
 public:
  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu&,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i] = {.seconds = 1e-9 * operators[i].Number(kernel::Key::kN)};
    }
  }
};

// A call of 32 ns that clears 4 elements below: 4 ns for the kernel that clears, 28 ns for its own.
TEST(GraphPricesTest, ACallBelowTakesWhatItWouldAlone) {
  trace::Trace graph = Relu();
  const auto intern = [&](const char* text) { return graph.strings.Intern(text); };
  trace::GraphNodes::Row cleared = graph.graph_nodes.At(0);
  cleared.id = 2;
  cleared.parent = 0;
  cleared.name = intern("aten::zero_");
  cleared.input_values = intern(R"json([[7,9,0,4,4,"cuda:0"]])json");
  cleared.input_shapes = cleared.output_shapes = intern("[[4]]");
  cleared.output_values = cleared.input_values;
  graph.graph_nodes.Append(cleared);
  HostModel host;
  host.Set(HostPart::kLaunches, "aten::zero_", {.typical = 1});

  const GraphPrices prices = PriceGraph(graph, GraphSteps(graph).value().front(), hardware::Gpu{},
                                        OneNanosecondAnElement(), host);

  ASSERT_EQ(prices.tasks_of_node[0].size(), 1);
  EXPECT_EQ(prices.tasks_of_node[0][0].duration_ps, 28000);
  ASSERT_EQ(prices.tasks_of_node[1].size(), 1);
  EXPECT_EQ(prices.tasks_of_node[1][0].duration_ps, 4000);
}

// Two calls of 9 ns, one of which no model knows.
TEST(GraphPricesTest, TheShareOfCallsThatNoModelKnowsIsTold) {
  trace::Trace graph = Relu();
  trace::GraphNodes::Row unknown = graph.graph_nodes.At(0);
  unknown.id = 2;
  unknown.name = graph.strings.Intern("mine::mystery");
  graph.graph_nodes.Append(unknown);

  const GraphPrices prices = PriceGraph(graph, GraphSteps(graph).value().front(), hardware::Gpu{},
                                        NineNanoseconds(), HostModel{});

  EXPECT_EQ(prices.summary.unknown_calls, 1);
  EXPECT_DOUBLE_EQ(prices.summary.UnmodelledShare(), 0.5);
}

// Compiled code whose kernels are recorded, and compiled code of which only a copy is.
TEST(GraphPricesTest, CompiledCodeWithoutKernelsReplaysAGraph) {
  trace::Trace graph;
  const auto add = [&](const char* name, RowId parent) {
    return graph.graph_nodes.Append({.id = static_cast<std::int64_t>(graph.graph_nodes.size()),
                                     .name = graph.strings.Intern(name),
                                     .kind = trace::GraphNodeKind::kOperator,
                                     .parent = parent});
  };
  const RowId plain = add("## Call CompiledFxGraph f1 ##", kNoRow);
  const RowId kernel = add("triton_poi_fused_0", plain);
  const RowId replay = add("## Call CompiledFxGraph f2 ##", kNoRow);
  const RowId copy = add("aten::_foreach_copy_", replay);
  GraphPrices prices;
  prices.tasks_of_node.resize(graph.graph_nodes.size());
  prices.tasks_of_node[kernel] = prices.tasks_of_node[copy] = {{1000, "kernel"}};

  EXPECT_EQ(NumReplayedGraphs(graph, GraphSteps(graph).value().front(), prices), 1);
}

// Two rows of one kind and pass have the median 20; a kind that is not known here is counted.
TEST(GraphPricesTest, MeasuredLaunchesAreMediansOfAKindAndPass) {
  const Result<Table> table = ParseCsv(
      "operator,kernels\n"
      "embeddingbag rows=10 dim=8 bags=4 pool=2 pass=bwd fp32,10\n"
      "embeddingbag rows=20 dim=8 bags=4 pool=2 pass=bwd fp32,30\n"
      "gemm m=4 n=4 k=4 bf16,1\n"
      "no_such_kind n=4 bf16,7\n");
  HostModel model;

  const Result<std::int64_t> num_unknown = AddMeasuredLaunches(*table, model);

  EXPECT_EQ(num_unknown, 1);
  ASSERT_NE(model.Find(HostPart::kLaunches, "embeddingbag bwd"), nullptr);
  EXPECT_EQ(model.Find(HostPart::kLaunches, "embeddingbag bwd")->typical, 20);
  EXPECT_EQ(model.Find(HostPart::kLaunches, "gemm")->typical, 1);
}

}  // namespace
}  // namespace orrery::workload
