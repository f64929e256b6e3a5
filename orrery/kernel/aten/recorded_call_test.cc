#include "orrery/kernel/aten/recorded_call.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/columns.h"
#include "orrery/base/data_type.h"
#include "orrery/base/string_table.h"
#include "orrery/kernel/aten/aten.h"
#include "orrery/kernel/operator.h"
#include "orrery/trace/trace.h"

namespace orrery::kernel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

/// One side of a node, as the writer has it.
struct Side {
  std::string_view values = "[]";
  std::string_view shapes = "[]";
  std::string_view types = "[]";
  std::string_view strides = "[]";
};

AtenCall CallOf(trace::Trace& trace, std::string_view name, const Side& inputs,
                const Side& outputs = {}) {
  StringTable& strings = trace.strings;
  const RowId row = trace.graph_nodes.Append({.name = strings.Intern(name),
                                              .input_values = strings.Intern(inputs.values),
                                              .input_shapes = strings.Intern(inputs.shapes),
                                              .input_types = strings.Intern(inputs.types),
                                              .input_strides = strings.Intern(inputs.strides),
                                              .output_values = strings.Intern(outputs.values),
                                              .output_shapes = strings.Intern(outputs.shapes),
                                              .output_types = strings.Intern(outputs.types),
                                              .output_strides = strings.Intern(outputs.strides)});
  return CallOfNode(trace, row);
}

std::vector<std::string> Texts(const AtenCall& call) {
  std::vector<std::string> texts;
  for (const Operator& op : OperatorsOf(call).operators) {
    texts.push_back(Text(op));
  }
  return texts;
}

TEST(AtenCallOfNode, TensorsHaveShapesStridesTypesAndPlaces) {
  trace::Trace trace;
  const AtenCall call =
      CallOf(trace, "aten::mm",
             {.values = R"json([[92, 80, 0, 32, 2, "cuda:0"], [96, 97, 0, 24, 2, "cpu"]])json",
              .shapes = "[[8, 4], [4, 6]]",
              .types = R"json(["Tensor(c10::BFloat16)", "Tensor(float)"])json",
              .strides = "[[4, 1], [1, 4]]"});
  ASSERT_NE(call.TensorAt(1), nullptr);
  EXPECT_THAT(call.TensorAt(1)->dims, ElementsAre(4, 6));
  EXPECT_THAT(call.TensorAt(1)->strides, ElementsAre(1, 4));
  EXPECT_EQ(call.TensorAt(1)->type, DataType::kFp32);
  EXPECT_EQ(call.TensorAt(0)->storage, 80);
  EXPECT_TRUE(call.TensorAt(0)->on_gpu);
  EXPECT_FALSE(call.TensorAt(1)->on_gpu);
}

TEST(AtenCallOfNode, ScalarsAndListsKeepTheirKind) {
  trace::Trace trace;
  const AtenCall call =
      CallOf(trace, "aten::mine",
             {.values = R"json([1, 0.5, true, [2, -1], [true, false], "<None>", "tanh"])json",
              .shapes = "[[], [], [], [[], []], [[], []], [], []]",
              .types = R"json(["Int", "Double", "Bool", "GenericList[Int,Int]",
                               "GenericList[Bool,Bool]", "None", "String"])json",
              .strides = "[[], [], [], [[], []], [[], []], [], []]"});
  EXPECT_EQ(call.IntegerAt(0), 1);
  EXPECT_EQ(call.NumberAt(1), 0.5);
  EXPECT_TRUE(call.IsTrueAt(2));
  EXPECT_THAT(call.IntegersAt(3), ElementsAre(2, -1));
  EXPECT_THAT(call.IntegersAt(4), ElementsAre(1, 0));
  EXPECT_TRUE(std::holds_alternative<std::monostate>(call.inputs[5]));
  EXPECT_EQ(call.TextAt(6), "tanh");
}

TEST(AtenCallOfNode, ListsOfTensorsHaveHoles) {
  trace::Trace trace;
  const AtenCall call = CallOf(trace, "aten::index",
                               {.values = R"json([[5, 6, 0, 27, 4, "cuda:0"],
                 ["<None>", [7, 0, 0, 0, 0, ""], [8, 9, 0, 3, 8, "cuda:0"]]])json",
                                .shapes = "[[3, 3, 3], [[], [], [3]]]",
                                .types = R"json(["Tensor(float)",
                  "GenericList[None,Tensor(nullptr (uninitialized)),Tensor(long int)]"])json",
                                .strides = "[[9, 3, 1], [[], [], [1]]]"});
  ASSERT_EQ(call.TensorsAt(1).size(), 3);
  EXPECT_FALSE(call.TensorsAt(1)[0].is_defined);
  EXPECT_FALSE(call.TensorsAt(1)[1].is_defined);
  EXPECT_EQ(call.TensorsAt(1)[2].type, DataType::kInt64);
}

TEST(AtenCallOfNode, NodesWithoutArgumentsAreCallsWithoutThem) {
  trace::Trace trace;
  const AtenCall call = CallOf(trace, "forward", {});
  EXPECT_EQ(call.name, "forward");
  EXPECT_THAT(call.inputs, IsEmpty());
  EXPECT_THAT(Texts(call), IsEmpty());
}

// As recorded from ResNet-50.
TEST(AtenCallOfOperator, ProfilesTellInputs) {
  trace::Trace trace;
  StringTable& strings = trace.strings;
  trace.host_ops.Append(
      {.name = strings.Intern("aten::sum"),
       .input_dims = strings.Intern("[[64, 1000], [], [], []]"),
       .input_types = strings.Intern(R"json(["c10::BFloat16", "ScalarList", "Scalar", ""])json"),
       .input_strides = strings.Intern("[[1000, 1], [], [], []]"),
       .concrete_inputs = strings.Intern(R"json(["", "[0]", "True", ""])json")});
  EXPECT_THAT(Texts(CallOfOperator(trace, 0)), ElementsAre("reduce outer=1 r=64 inner=1000 bf16"));
}

TEST(AtenCallOfOperator, AWrappedNumberIsOnTheHost) {
  trace::Trace trace;
  StringTable& strings = trace.strings;
  trace.host_ops.Append({.name = strings.Intern("aten::mul"),
                         .input_dims = strings.Intern("[[8, 4], []]"),
                         .input_types = strings.Intern(R"json(["c10::BFloat16", "double"])json"),
                         .input_strides = strings.Intern("[[4, 1], []]"),
                         .concrete_inputs = strings.Intern(R"json(["", ""])json")});
  EXPECT_THAT(Texts(CallOfOperator(trace, 0)), ElementsAre("elementwise fn=mul n=32 rb=2 bf16"));
}

}  // namespace
}  // namespace orrery::kernel
