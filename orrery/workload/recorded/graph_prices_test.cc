#include "orrery/workload/recorded/graph_prices.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/csv.h"
#include "orrery/kernel/operator.h"

namespace orrery::workload {
namespace {

/// Every operator takes 9 ns.
class NineNanoseconds : public kernel::CostModel {
 public:
  void Predict(std::span<const kernel::Operator> operators, const hardware::Gpu&,
               std::span<kernel::Estimate> estimates) const override {
    for (std::size_t i = 0; i < operators.size(); ++i) {
      estimates[i] = {.seconds = 9e-9};
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
  const GraphPrices prices = PriceGraph(Relu(), hardware::Gpu{}, NineNanoseconds(), host);
  std::vector<std::int64_t> durations;
  for (const DeviceTask& task : prices.tasks_of_node[0]) {
    durations.push_back(task.duration_ps);
  }
  return durations;
}

// Nobody knows how relu is launched: once. Measured, its kind launches three kernels; recorded, the
// operator itself two, which counts more. The time is spread over them.
TEST(GraphPricesTest, TimeIsSpreadOverTheLaunchesThatAreKnownBest) {
  HostModel host;
  EXPECT_THAT(Durations(host), ::testing::ElementsAre(9000));

  host.Set(HostPart::kLaunches, "elementwise", {.typical = 3});
  EXPECT_THAT(Durations(host), ::testing::ElementsAre(3000, 3000, 3000));

  host.Set(HostPart::kLaunches, "aten::relu", {.typical = 2});
  EXPECT_THAT(Durations(host), ::testing::ElementsAre(4500, 4500));
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
