#include "orrery/analyze/operator_work.h"

#include <optional>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

std::optional<OperatorWork> WorkOf(std::string_view name, std::string_view dims,
                                   std::string_view types, std::string_view values = "") {
  trace::Trace trace;
  trace.host_ops.Append({.name = trace.strings.Intern(name),
                         .input_dims = trace.strings.Intern(dims),
                         .input_types = trace.strings.Intern(types),
                         .concrete_inputs = trace.strings.Intern(values)});
  return WorkOfCall(OperatorsOfCalls(trace).Of(0));
}

constexpr std::string_view kHalves = R"json(["c10::BFloat16", "c10::BFloat16"])json";

// 2 × 3 times 3 × 5: 2·2·3·5 = 60 FLOPs; 6 + 15 + 10 numbers of 2 bytes.
TEST(OperatorWorkTest, Gemm) {
  const auto work = WorkOf("aten::mm", "[[2, 3], [3, 5]]", kHalves);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 60.0);
  EXPECT_EQ(work->bytes, 62.0);
  EXPECT_EQ(work->type, DataType::kBf16);
}

// As above: 6 + 15 + 10 numbers of 4 bytes; the bias of 5, which kernels add as they write, is left
// out.
TEST(OperatorWorkTest, GemmWithABias) {
  const auto work = WorkOf("aten::addmm", "[[5], [2, 3], [3, 5], [], []]",
                           R"json(["float", "float", "float", "Scalar", "Scalar"])json");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 60.0);
  EXPECT_EQ(work->bytes, 124.0);
}

// Four times 2 × 3 times 3 × 5.
TEST(OperatorWorkTest, BatchedGemm) {
  const auto work = WorkOf("aten::bmm", "[[4, 2, 3], [4, 3, 5]]", kHalves);
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 240.0);
  EXPECT_EQ(work->bytes, 248.0);
}

// 4·2 rows of 3, weight 5 × 3: 2·8·3·5; 24 + 15 + 40 numbers.
TEST(OperatorWorkTest, LinearHasTheWeightTransposed) {
  const auto work = WorkOf("aten::linear", "[[4, 2, 3], [5, 3], []]",
                           R"json(["c10::Half", "c10::Half", ""])json");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 240.0);
  EXPECT_EQ(work->bytes, 158.0);
}

// 8 × 8 with padding 1 and a filter of 3, stride 2: (8 + 2 - 3)/2 + 1 = 4 a side. Output
// 2·16·4·4 = 512; each is 4·3·3 = 36 products: 2·512·36. Numbers: 2·4·64 + 16·36 + 512.
TEST(OperatorWorkTest, Convolution) {
  constexpr std::string_view kDims = "[[2, 4, 8, 8], [16, 4, 3, 3], [], [], [], []]";
  constexpr std::string_view kTypes =
      R"json(["float", "float", "ScalarList", "ScalarList", "ScalarList", "Scalar"])json";
  const auto work = WorkOf("aten::cudnn_convolution", kDims, kTypes,
                           R"json(["", "", "[1, 1]", "[2, 2]", "[1, 1]", "1"])json");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 36'864.0);
  EXPECT_EQ(work->bytes, 4 * (512 + 576 + 512.0));
  EXPECT_EQ(WorkOf("aten::cudnn_convolution", kDims, kTypes), std::nullopt) << "stride unknown";
}

// 2·3·8·4 numbers of the query meet 8 keys: 4·192·8 FLOPs. The causal mask leaves 1 to 8 keys, 4.5
// on average: 4·192·4.5. Four tensors of 192 halves are moved, and 2·3·8 floats of the softmax.
TEST(OperatorWorkTest, CausalAttentionHasTheTriangle) {
  constexpr std::string_view kDims = "[[2, 3, 8, 4], [2, 3, 8, 4], [2, 3, 8, 4], [], []]";
  constexpr std::string_view kTypes =
      R"json(["c10::Half", "c10::Half", "c10::Half", "Scalar", "Scalar"])json";
  const auto all = WorkOf("aten::_scaled_dot_product_flash_attention", kDims, kTypes,
                          R"json(["", "", "", "0.", "False"])json");
  const auto causal = WorkOf("aten::_scaled_dot_product_flash_attention", kDims, kTypes,
                             R"json(["", "", "", "0.", "True"])json");
  ASSERT_TRUE(all && causal);
  EXPECT_EQ(all->flops, 6'144.0);
  EXPECT_EQ(causal->flops, 3'456.0);
  EXPECT_EQ(causal->bytes, 1'728.0);
}

// 4 × 1 and 3: an output of 12 floats. What is broadcast stays in the cache and is not counted.
TEST(OperatorWorkTest, ElementWiseOperatorsBroadcast) {
  const auto work =
      WorkOf("aten::add", "[[4, 1], [3], []]", R"json(["float", "float", "Scalar"])json");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 12.0);
  EXPECT_EQ(work->bytes, 48.0);
}

// 10 halves are read and 10 floats written.
TEST(OperatorWorkTest, ACopyComputesNothing) {
  const auto work =
      WorkOf("aten::copy_", "[[10], [10], []]", R"json(["float", "c10::Half", "Scalar"])json");
  ASSERT_TRUE(work);
  EXPECT_EQ(work->flops, 0.0);
  EXPECT_EQ(work->bytes, 60.0);
}

TEST(OperatorWorkTest, WhatIsNotUnderstoodIsUnknown) {
  EXPECT_FALSE(WorkOf("aten::mm", "", ""));
  EXPECT_FALSE(WorkOf("aten::mm", "[[2, 3], [4, 5]]", kHalves)) << "sizes do not fit";
  EXPECT_FALSE(WorkOf("aten::mm", "[[2, 3], [3, 5]]", R"json(["odd", "odd"])json"));
  EXPECT_FALSE(WorkOf("aten::sort", "[[2, 3]]", R"json(["float"])json"));
  EXPECT_FALSE(WorkOf("my::mm", "[[2, 3], [3, 5]]", kHalves));
}

}  // namespace
}  // namespace orrery::analyze
