#include "orrery/workload/recorded/priced_calls.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/trace.h"

namespace orrery::workload {
namespace {

using testing::ElementsAre;
using testing::SizeIs;

/// A graph of calls of one tensor of floats that return another of the same size.
class Graph {
 public:
  RowId Add(std::string_view name, std::int64_t elements, RowId parent = kNoRow) {
    const std::string shape = "[[" + std::to_string(elements) + "]]";
    return trace_.graph_nodes.Append(
        {.name = Intern(name),
         .input_values = Intern(R"json([[1, 2, 0, 0, 4, "cuda:0"]])json"),
         .input_shapes = Intern(shape),
         .input_types = Intern(R"json(["Tensor(float)"])json"),
         .output_values = Intern(R"json([[3, 4, 0, 0, 4, "cuda:0"]])json"),
         .output_shapes = Intern(shape),
         .output_types = Intern(R"json(["Tensor(float)"])json"),
         .parent = parent});
  }

  [[nodiscard]] std::vector<std::string> Priced() const {
    std::vector<std::string> texts;
    for (const PricedCall& call : PricedCalls(trace_)) {
      for (const kernel::Operator& op : *call.operators) {
        texts.push_back(std::to_string(call.node) + " " + kernel::Text(op));
      }
    }
    return texts;
  }

 private:
  StringId Intern(std::string_view text) { return trace_.strings.Intern(text); }

  trace::Trace trace_;
};

TEST(PricedCallsTest, NothingIsPricedBelowAPricedCall) {
  Graph graph;
  const RowId relu = graph.Add("aten::relu", 8);
  graph.Add("aten::clamp_min", 8, relu);
  EXPECT_THAT(graph.Priced(), ElementsAre("0 elementwise fn=relu n=8 wb=4 fp32"));
}

TEST(PricedCallsTest, CallsThatPassOnYieldToThoseBelow) {
  Graph graph;
  const RowId zeros = graph.Add("aten::zeros", 8);
  graph.Add("aten::zero_", 8, zeros);
  EXPECT_THAT(graph.Priced(), ElementsAre("1 fill n=8 fp32"));
}

TEST(PricedCallsTest, CallsThatPassOnArePricedWhereNothingIsRecordedBelow) {
  Graph graph;
  graph.Add("aten::zeros", 8);
  EXPECT_THAT(graph.Priced(), ElementsAre("0 fill n=8 fp32"));
}

// Eight ranks hold a part each; the outer call speaks of the whole.
TEST(PricedCallsTest, ASplitTensorCountsWithThePartOfThisRank) {
  Graph graph;
  const RowId whole = graph.Add("aten::sqrt", 64);
  const RowId python = graph.Add("PythonSubclass", 64, whole);
  graph.Add("aten::sqrt", 8, python);
  EXPECT_THAT(graph.Priced(), ElementsAre("2 elementwise fn=sqrt n=8 wb=4 fp32"));
}

// A product of complex numbers and a real one in place: "aten::mul_" calls "aten::mul".
TEST(PricedCallsTest, ACallInPlaceYieldsToTheSameBelow) {
  Graph graph;
  const RowId in_place = graph.Add("aten::sqrt_", 8);
  graph.Add("aten::sqrt", 8, in_place);
  EXPECT_THAT(graph.Priced(), ElementsAre("1 elementwise fn=sqrt n=8 wb=4 fp32"));
}

// A kernel that needs a tensor without gaps has it copied first.
TEST(PricedCallsTest, CopiesThatMakeAnInputContiguousTakeTheirTime) {
  Graph graph;
  const RowId relu = graph.Add("aten::relu", 8);
  const RowId contiguous = graph.Add("aten::contiguous", 8, relu);
  graph.Add("aten::copy_", 8, graph.Add("aten::clone", 8, contiguous));
  EXPECT_THAT(graph.Priced(), SizeIs(2));
}

TEST(PricedCallsTest, PythonMayMakeOtherCalls) {
  Graph graph;
  const RowId whole = graph.Add("aten::sqrt", 64);
  const RowId python = graph.Add("PythonSubclass", 64, whole);
  graph.Add("aten::exp", 8, python);
  EXPECT_THAT(graph.Priced(), ElementsAre("2 elementwise fn=exp n=8 wb=4 fp32"));
}

TEST(PricedCallsTest, TheUnknownIsSaidOnlyWhereNothingIsBelow) {
  Graph graph;
  const RowId outer = graph.Add("mine::outer", 8);
  graph.Add("mine::inner", 8, outer);
  EXPECT_THAT(graph.Priced(), ElementsAre("1 elementwise fn=other n=8 wb=4 fp32"));
}

// As PyTorch records a GRU: allocations below a call that no model knows.
TEST(PricedCallsTest, TheUnknownIsPricedItselfWhereOnlyAllocationsAreBelow) {
  Graph graph;
  const RowId outer = graph.Add("mine::outer", 8);
  const RowId cell = graph.Add("mine::cell", 8, outer);
  graph.Add("aten::empty", 8, cell);
  EXPECT_THAT(graph.Priced(), ElementsAre("1 elementwise fn=other n=8 wb=4 fp32"));
}

TEST(PricedCallsTest, TheUnknownYieldsToAnyPricedCallBelow) {
  Graph graph;
  const RowId outer = graph.Add("mine::outer", 8);
  const RowId inner = graph.Add("mine::inner", 8, outer);
  graph.Add("aten::relu", 8, inner);
  EXPECT_THAT(graph.Priced(), ElementsAre("2 elementwise fn=relu n=8 wb=4 fp32"));
}

// The dense shape of a sparse tensor is 10^9 elements; it holds 4 rows of 64.
TEST(PricedCallsTest, SparseTensorsCountWithTheirParts) {
  trace::Trace trace;
  const auto add = [&](std::string_view name, std::string_view input, std::string_view shapes,
                       std::string_view types, std::string_view output, std::string_view shape) {
    const auto intern = [&](std::string_view text) { return trace.strings.Intern(text); };
    trace.graph_nodes.Append({.name = intern(name),
                              .input_values = intern(input),
                              .input_shapes = intern(shapes),
                              .input_types = intern(types),
                              .output_values = intern(output),
                              .output_shapes = intern(shape),
                              .output_types = intern(R"json(["Tensor(float)"])json")});
  };
  constexpr std::string_view kSparse = R"json([[7, 0, 0, 0, 0, ""]])json";
  constexpr std::string_view kDense = "[[15625000, 64]]";
  add("aten::_sparse_coo_tensor_with_dims_and_tensors",
      R"json([[1, 2, 0, 4, 8, "cuda:0"], [3, 4, 0, 256, 4, "cuda:0"]])json", "[[1, 4], [4, 64]]",
      R"json(["Tensor(long int)", "Tensor(float)"])json", kSparse, kDense);
  add("mine::reads_sparse", kSparse, kDense, R"json(["Tensor(float)"])json",
      R"json([[5, 6, 0, 256, 4, "cuda:0"]])json", "[[4, 64]]");
  const std::vector<PricedCall> calls = PricedCalls(trace);
  ASSERT_EQ(calls.size(), 1U);  // making it launches nothing
  ASSERT_EQ(calls[0].node, 1U);
  // 4 indices of 8 bytes, 256 values read, 256 written: 2,080 bytes, within those of its class.
  const kernel::Operator& op = calls[0].operators->front();
  EXPECT_LT(op.Get(kernel::Key::kN), 10'000'000);
}

}  // namespace
}  // namespace orrery::workload
