
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/test_models.h"

namespace orrery::workload {
namespace {

std::vector<std::string> Names(const std::vector<ParameterTensor>& tensors) {
  std::vector<std::string> names;
  for (const ParameterTensor& tensor : tensors) {
    names.push_back(tensor.name);
  }
  return names;
}

PartParameters Sum(const std::vector<ParameterTensor>& tensors) {
  PartParameters sum;
  for (const ParameterTensor& tensor : tensors) {
    switch (tensor.spread) {
      case TensorSpread::kSplit:
        sum.split += tensor.elements;
        break;
      case TensorSpread::kWhole:
        sum.whole += tensor.elements;
        break;
      case TensorSpread::kExpert:
        sum.experts += tensor.elements;
        break;
    }
  }
  return sum;
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
  const std::vector<ParameterTensor> tensors = TensorsOf(Llama3());
  EXPECT_EQ(tensors.size(), 1u + 32 * 9 + 2);
  EXPECT_EQ(tensors.front().name, "words.weight");
  EXPECT_EQ(tensors[1 + 31 * 9].name, "blocks.31.attention.q.weight");
  EXPECT_EQ(tensors.back().name, "head.weight");
}

TEST(ParameterTensorsTest, TensorsAreWhatTheCountOfParametersCounts) {
  for (const Transformer& model :
       {Gpt({.hidden = 768, .layers = 2, .heads = 12, .vocabulary = 99}), Llama3(), Mixtral(),
        DeepseekV3(), BertBase(), T5Small(), VitBase()}) {
    for (const BlockRun& run : model.blocks) {
      EXPECT_EQ(Sum(TensorsOf(run.block, model.hidden)), ParametersOf(run.block, model.hidden));
    }
    EXPECT_EQ(Sum(EmbeddingTensors(model, 640)), EmbeddingParameters(model, 640));
    for (const bool with_tied : {false, true}) {
      EXPECT_EQ(Sum(HeadTensors(model, 640, with_tied)), HeadParameters(model, 640, with_tied));
    }
    EXPECT_EQ(Sum(TensorsOf(model)).total(), TotalParameters({.name = "", .body = model}));
  }
}

}  // namespace
}  // namespace orrery::workload
