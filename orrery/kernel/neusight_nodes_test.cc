#include <string>
#include <string_view>
#include <vector>

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
#include "orrery/base/text/table.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;

struct NodeText {
  std::string_view run;
  std::string_view call;
  std::string_view target;
  std::string_view inputs;
  std::string_view output;
  std::string_view milliseconds = "0.5";
};

/// The operator of a node, its GPU and time in µs, or why there is none.
std::vector<std::string> Read(const NodeText& node) {
  const Result<Table> table = ParseCsv(
      fmt::format("id,op,target,input_shapes,output_shape,fw_latency\n{},{},{},\"{}\",\"{}\",{}\n",
                  node.run, node.call, node.target, node.inputs, node.output, node.milliseconds));
  EXPECT_TRUE(table.has_value());
  const Result<const Layout*> layout = FindLayout(*table);
  EXPECT_TRUE(layout.has_value());
  const auto rows = (*layout)->read(*table, 0);
  if (!rows) {
    return {rows.error().message()};
  }
  std::vector<std::string> texts;
  for (const LayoutRow& one : *rows) {
    texts.push_back(fmt::format("{} | {} {:.1f} us", Text(one.op), one.gpu, one.seconds * 1e6));
  }
  return texts;
}

/// The head of a model: rows of 1280 by a vocabulary.
NodeText HeadIn(std::string_view run) {
  return {run, "call_module", "lm_head", "[[4, 1024, 1280]]", "(4, 1024, 50257)"};
}

TEST(NeuSightNodes, ALinearLayerMultipliesItsRowsByTransposedWeights) {
  // 8 · 512 = 4096 rows of 1024 become rows of 4096.
  EXPECT_THAT(Read({"AMD_Instinct_MI100/bert_large-inf-512-8", "call_module",
                    "bert.encoder.layer.0.intermediate.dense", "[[8, 512, 1024]]", "(8, 512, 4096)",
                    "1.25"}),
              ElementsAre("gemm m=4096 n=4096 k=1024 layout=nt bias=1 fp32 | AMD_Instinct_MI100 "
                          "1250.0 us"));
  EXPECT_THAT(Read(HeadIn("Tesla_T4/gpt2_large-inf-1024-4")),
              ElementsAre("gemm m=4096 n=50257 k=1280 layout=nt fp32 | Tesla_T4 500.0 us"));
}

TEST(NeuSightNodes, AddmmTakesWeightsAsTheyLie) {
  EXPECT_THAT(Read({"Tesla_T4/gpt2_large-inf-1024-8", "call_function",
                    "<built-in method addmm of type object>",
                    "[[3840], [8192, 1280], [1280, 3840]]", "(8192, 3840)"}),
              ElementsAre("gemm m=8192 n=3840 k=1280 bias=1 fp32 | Tesla_T4 500.0 us"));
}

TEST(NeuSightNodes, AGemmOfManyDimensionsIsABatch) {
  EXPECT_THAT(Read({"Tesla_T4/bert_large-inf-512-8", "call_function",
                    "<built-in method matmul of type object>",
                    "[[8, 16, 512, 64], [8, 16, 64, 512]]", "(8, 16, 512, 512)"}),
              ElementsAre("bgemm b=128 m=512 n=512 k=64 fp32 | Tesla_T4 500.0 us"));
  EXPECT_THAT(
      Read({"Tesla_T4/opt_13-inf-2048-2", "call_function", "<built-in method bmm of type object>",
            "[[64, 2048, 64], [64, 64, 2048]]", "(64, 2048, 2048)"}),
      ElementsAre("bgemm b=64 m=2048 n=2048 k=64 fp32 | Tesla_T4 500.0 us"));
}

TEST(NeuSightNodes, WhatAProgramSeesOfAnMi250IsAnMi210) {
  EXPECT_THAT(Read(HeadIn("AMD_Instinct_MI250/gpt2_large-inf-1024-4")),
              ElementsAre("gemm m=4096 n=50257 k=1280 layout=nt fp32 | MI210 500.0 us"));
}

TEST(NeuSightNodes, TrainingRunsGiveNoRow) {
  EXPECT_THAT(Read(HeadIn("AMD_Instinct_MI250/gpt2_large-train-1024-4")), IsEmpty());
}

TEST(NeuSightNodes, OtherCallsGiveNoRow) {
  EXPECT_THAT(Read({"Tesla_T4/bert_large-inf-512-8", "call_module", "bert.embeddings.LayerNorm",
                    "[[8, 512, 1024]]", "(8, 512, 1024)"}),
              IsEmpty());
  EXPECT_THAT(Read({"Tesla_T4/bert_large-inf-512-8", "call_method", "size", "[[8, 512]]", "(1,)"}),
              IsEmpty());
}

TEST(NeuSightNodes, AGemmWithoutATimeIsRejected) {
  NodeText head = HeadIn("Tesla_T4/gpt2_large-inf-1024-4");
  head.milliseconds = "0";
  EXPECT_THAT(Read(head), ElementsAre("fw_latency is not a time above zero"));
}

}  // namespace
}  // namespace orrery::kernel
