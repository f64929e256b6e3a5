#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {
namespace {

/// The waits of a step that is one call of two tensors and a flag.
std::int64_t WaitsOf(std::string_view name, std::string_view to, std::string_view from,
                     std::string_view non_blocking) {
  trace::Trace graph;
  const auto intern = [&](const std::string& text) { return graph.strings.Intern(text); };
  const auto tensor = [](std::string_view device) {
    return R"json([1, 2, 0, 8, 4, ")json" + std::string(device) + R"json("])json";
  };
  graph.graph_nodes.Append(
      {.id = 1,
       .name = intern(std::string(name)),
       .input_values =
           intern("[" + tensor(to) + "," + tensor(from) + "," + std::string(non_blocking) + "]"),
       .input_shapes = intern("[[8], [8], []]"),
       .input_types = intern(R"json(["Tensor(float)", "Tensor(float)", "Bool"])json")});
  const auto steps = GraphSteps(graph);
  EXPECT_TRUE(steps.has_value());
  return ProgramOfGraph(graph, steps->front(), HostModel(),
                        [](RowId) { return std::vector<DeviceTask>(); })
      .coverage.waits;
}

// PyTorch copies to or from the host and waits for the stream, unless it is asked not to.
TEST(GraphWaitsTest, CopiesBetweenHostAndGpuWait) {
  EXPECT_EQ(WaitsOf("aten::copy_", "cuda:0", "cpu", "false"), 1);
  EXPECT_EQ(WaitsOf("aten::copy_", "cpu", "cuda:0", "false"), 1);
  EXPECT_EQ(WaitsOf("aten::copy_", "cuda:0", "cpu", "true"), 0);
  EXPECT_EQ(WaitsOf("aten::copy_", "cuda:0", "cuda:0", "false"), 0);
}

TEST(GraphWaitsTest, SizesThatDependOnValuesAreWaitedFor) {
  EXPECT_EQ(WaitsOf("aten::nonzero", "cuda:0", "cuda:0", "false"), 1);
  EXPECT_EQ(WaitsOf("aten::nonzero", "cpu", "cpu", "false"), 0);
  EXPECT_EQ(WaitsOf("aten::relu", "cuda:0", "cuda:0", "false"), 0);
}

}  // namespace
}  // namespace orrery::workload
