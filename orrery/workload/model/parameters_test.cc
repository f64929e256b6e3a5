#include "orrery/workload/model/parameters.h"

#include <cstdint>

#include <gtest/gtest.h>

#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"

namespace orrery::workload {
namespace {

std::int64_t Total(const Transformer& model) {
  return TotalParameters({.name = "", .body = model});
}

std::int64_t Active(const Transformer& model) {
  return ActiveParameters({.name = "", .body = model});
}

// Attention 4096·128·(2·32 + 2·8) = 41,943,040; MLP 3·4096·14336 = 176,160,768; norms 2·4096.
TEST(Parameters, CountLlama3) {
  const Transformer model = Llama3();
  EXPECT_EQ(Sum(TensorsOf(model.blocks[0].block, 4096)),
            (PartParameters{.split = 218'103'808, .whole = 8192}));
  EXPECT_EQ(Total(model), 8'030'261'248);
}

// A layer has 12h² + 13h; the published count of the model.
TEST(Parameters, CountGpt2Small) {
  const Transformer model = Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 50257});
  EXPECT_EQ(Sum(TensorsOf(model.blocks[0].block, 768)).total(), 12 * 768 * 768 + 13 * 768);
  EXPECT_EQ(Total(model), 124'439'808);
}

// The formula 12Lh²(1 + 13/(12h) + (V + s)/(12Lh)) leaves the final norm of 2h out.
TEST(Parameters, CountGpt3AsTheFormula) {
  const Transformer model =
      Gpt({.hidden = 12288, .layers = 96, .heads = 96, .vocabulary = 51200, .positions = 2048});
  EXPECT_EQ(Total(model) - 2 * 12288, 174'615'822'336);
}

// Tensor parallelism cuts 4h² + 3h of attention and 8h² + 4h of the MLP; the biases after the
// sums (2h) and the norms (4h) stay whole.
TEST(Parameters, SplitWhatTensorParallelismCuts) {
  const Transformer model = Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 50257});
  EXPECT_EQ(Sum(TensorsOf(model.blocks[0].block, 768)),
            (PartParameters{.split = 12 * 768 * 768 + 7 * 768, .whole = 6 * 768}));
}

// A layer: attention 41,943,040, eight experts of 3·4096·14336, router 8·4096, norms 8192:
// 1,451,270,144. 32 of them, 2·32000·4096 and the last norm. Two experts a token are active.
TEST(Parameters, CountMixtral) {
  const Transformer model = Mixtral();
  EXPECT_EQ(Sum(TensorsOf(model.blocks[0].block, 4096)).experts, 8 * 176'160'768LL);
  EXPECT_EQ(Total(model), 46'702'792'704);
  EXPECT_EQ(Active(model), 46'702'792'704 - 32 * 6 * 176'160'768LL);
}

// Attention of a layer: queries 1536·(7168 + 128·192), keys and values 512·(7168 + 128·256) +
// 7168·64, output 128·128·7168, norms 1536 + 512: 187,107,328. Dense MLP 3·7168·18432; an expert
// 3·7168·2048, 256 of them and a shared one, router 256·7168. Three dense layers, 58 with experts.
TEST(Parameters, CountDeepseekV3) {
  Transformer model = DeepseekV3();
  model.extra_predictions = 0;
  EXPECT_EQ(Sum(TensorsOf(model.blocks[0].block, 7168)).total(),
            187'107'328 + 396'361'728 + 2 * 7168);
  EXPECT_EQ(Total(model), 671'026'404'352);
  EXPECT_EQ(Active(model), 671'026'404'352 - 58 * 248 * 44'040'192LL);
}

// The maker says 11.5 B without embedding and head: a layer of 11,507,286,016, 2h² and three norms.
TEST(Parameters, CountAnExtraPrediction) {
  EXPECT_EQ(Sum(ExtraPredictionTensors(DeepseekV3())).total(),
            11'507'286'016 + 2 * 7168 * 7168 + 3 * 7168);
  EXPECT_EQ(Total(DeepseekV3()), 671'026'404'352 + 11'610'067'968);
}

// As counted in the public checkpoints of the model for masked words, of T5 small and of ViT B/16.
TEST(Parameters, CountEncoders) {
  EXPECT_EQ(Total(BertBase()), 109'514'298);
  EXPECT_EQ(Total(T5Small()), 60'506'624);
  EXPECT_EQ(Total(VitBase()), 86'567'656);
}

TEST(Parameters, CountATiedHeadOnItsOwnStage) {
  const Transformer model = Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 50257});
  EXPECT_EQ(Sum(HeadTensors(model, 50304, false)).total(), 2 * 768);
  EXPECT_EQ(Sum(HeadTensors(model, 50304, true)).split, 50304 * 768);
  EXPECT_EQ(Sum(EmbeddingTensors(model, 50304)).split, 50304 * 768);
}

// Bottom 13·4+4 + 4·2+2 = 66; three vectors of 2 make 3 pairs, so top reads 5: 5·3+3 + 3·1+1 = 22;
// tables 10·2 + 7·2. One sample looks up 1 and 5 rows.
TEST(Parameters, CountDlrm) {
  const Dlrm dlrm = {.dense_features = 13,
                     .bottom = {4, 2},
                     .top = {3, 1},
                     .tables = {{.rows = 10, .dim = 2}, {.rows = 7, .dim = 2, .pool = 5}}};
  EXPECT_EQ(InteractionWidth(dlrm), 5);
  EXPECT_EQ(TotalParameters({.name = "", .body = dlrm}), 66 + 22 + 34);
  EXPECT_EQ(ActiveParameters({.name = "", .body = dlrm}), 66 + 22 + 12);
}

}  // namespace
}  // namespace orrery::workload
