
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/parameters.h"

namespace orrery::workload {
namespace {

std::vector<std::string> Names(const std::vector<ParameterTensor>& tensors) {
  std::vector<std::string> names;
  for (const ParameterTensor& tensor : tensors) {
    names.push_back(tensor.name);
  }
  return names;
}

void AppendStack(std::vector<ParameterTensor>& tensors, std::string_view name,
                 const std::vector<BlockRun>& runs, std::int64_t hidden) {
  std::int64_t index = 0;
  for (const BlockRun& run : runs) {
    const std::vector<ParameterTensor> block = TensorsOf(run.block, hidden);
    for (std::int64_t i = 0; i < run.count; ++i) {
      Append(tensors, fmt::format("{}.{}.", name, index++), block);
    }
  }
}

// All tensors of a model, those of block 7 as "blocks.7.…".
std::vector<ParameterTensor> TensorsOfModel(const Transformer& model) {
  std::vector<ParameterTensor> tensors = EmbeddingTensors(model, model.vocabulary);
  AppendStack(tensors, "encoder", model.encoder, model.hidden);
  AppendStack(tensors, "blocks", model.blocks, model.hidden);
  for (std::int64_t i = 0; i < model.extra_predictions && !model.blocks.empty(); ++i) {
    Append(tensors, fmt::format("extra.{}.", i), ExtraPredictionTensors(model));
  }
  Append(tensors, "", HeadTensors(model, model.vocabulary, false));
  return tensors;
}

TEST(ParameterTensorsTest, ABlockOfGpt2BeginsWithItsNorm) {
  const Transformer model = Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 50257});
  EXPECT_THAT(
      Names(TensorsOf(model.blocks[0].block, 768)),
      testing::ElementsAre("norm_1.weight", "norm_1.bias", "attention.qkv.weight",
                           "attention.qkv.bias", "attention.projection.weight",
                           "attention.projection.bias", "norm_2.weight", "norm_2.bias",
                           "mlp.up.weight", "mlp.up.bias", "mlp.down.weight", "mlp.down.bias"));
}

TEST(ParameterTensorsTest, ABlockOfLlamaEndsWithItsNorms) {
  EXPECT_THAT(
      Names(TensorsOf(Llama3().blocks[0].block, 4096)),
      testing::ElementsAre("attention.q.weight", "attention.k.weight", "attention.v.weight",
                           "attention.projection.weight", "mlp.gate.weight", "mlp.up.weight",
                           "mlp.down.weight", "norm_1.weight", "norm_2.weight"));
}

TEST(ParameterTensorsTest, TensorsOfAllBlocksAreNumbered) {
  const std::vector<ParameterTensor> tensors = TensorsOfModel(Llama3());
  EXPECT_EQ(tensors.size(), 1u + 32 * 9 + 2);
  EXPECT_EQ(tensors.front().name, "words.weight");
  EXPECT_EQ(tensors[1 + 31 * 9].name, "blocks.31.attention.q.weight");
  EXPECT_EQ(tensors.back().name, "head.weight");
}

TEST(ParameterTensorsTest, TensorsAreWhatTheCountOfParametersCounts) {
  for (const Transformer& model :
       {Gpt({.hidden = 768, .layers = 2, .heads = 12, .vocabulary = 99}), Llama3(), Mixtral(),
        DeepseekV3(), BertBase(), T5Small(), VitBase()}) {
    EXPECT_EQ(Sum(TensorsOfModel(model)).total(), TotalParameters({.name = "", .body = model}));
  }
}

}  // namespace
}  // namespace orrery::workload
