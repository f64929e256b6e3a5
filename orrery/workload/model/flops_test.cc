#include "orrery/workload/model/flops.h"

#include <gtest/gtest.h>

#include "orrery/kernel/operator.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr TokenBatch kOneToken = {.sequence = 8192};

double PerToken(double flops) {
  return flops / kOneToken.tokens();
}

Transformer Korthikanti22b() {
  return Gpt({.hidden = 6144, .layers = 48, .heads = 64, .vocabulary = 51200});
}

double Equation7(double hidden, double layers, double samples) {
  const double s = 2048;
  return 72 * samples * layers * s * hidden * hidden *
         (1 + s / (6 * hidden) + 51200 / (12 * hidden * layers));
}

TEST(Flops, CountAsKorthikantisTableThree) {
  EXPECT_NEAR(ModelFlops(Korthikanti22b(), {.sequence = 2048, .samples = 4}), 1.1436e15, 5e10);
  const Transformer gpt3 = Gpt({.hidden = 12288, .layers = 96, .heads = 96, .vocabulary = 51200});
  EXPECT_NEAR(ModelFlops(gpt3, {.sequence = 2048, .samples = 64}), 1.4109e17, 5e12);
  const Transformer b530 = Gpt({.hidden = 20480, .layers = 105, .heads = 128, .vocabulary = 51200});
  EXPECT_NEAR(ModelFlops(b530, {.sequence = 2048, .samples = 280}), 1.8522e18, 5e13);
  const Transformer b1000 =
      Gpt({.hidden = 25600, .layers = 128, .heads = 160, .vocabulary = 51200});
  EXPECT_NEAR(ModelFlops(b1000, {.sequence = 2048, .samples = 512}), 6.4259e18, 5e13);
  EXPECT_DOUBLE_EQ(ModelFlops(b1000, {.sequence = 2048, .samples = 512}),
                   Equation7(25600, 128, 512));
}

// By the text of Korthikanti et al.; their equation 8 as printed gives 1.0519.
TEST(Flops, SelectiveRecomputationRepeatsScoresOnce) {
  const TokenBatch batch = {.sequence = 2048, .samples = 4};
  const double model = ModelFlops(Korthikanti22b(), batch);
  EXPECT_NEAR(SelectiveFlops(Korthikanti22b(), batch) / model, 1.0173, 5e-5);
}

// 96·B·s·L·h²(1 + s/(6h) + V/(16Lh)).
TEST(Flops, EquationThreeOfSc21) {
  const double s = 2048;
  const double h = 6144;
  EXPECT_DOUBLE_EQ(RecomputedFlops(Korthikanti22b(), {.sequence = 2048, .samples = 4}),
                   96 * 4 * s * 48 * h * h * (1 + s / (6 * h) + 51200 / (16 * 48 * h)));
}

// Matrices 6·7,504,658,432 and causal scores 6·32·4096·8192.
TEST(Flops, MegatronHalvesCausalScores) {
  EXPECT_EQ(PerToken(MegatronFlops(Llama3(), kOneToken)), 51'470'401'536);
}

TEST(Flops, SixN) {
  EXPECT_EQ(PerToken(SixNFlops(Llama3(), kOneToken)), 48'181'567'488);
}

// 3·(2·N·s + 4·L·h·s²): per token 6N and 12·32·4096·8192 for the 8B model.
TEST(Flops, LlmFoundry) {
  EXPECT_EQ(PerToken(LlmFoundryFlops(Llama3(), kOneToken)), 48'181'567'488 + 12'884'901'888);
}

// Section 5: of a layer with h = 12288, s = 2048, b = 1 the forward pass has bsh(24h + 4s).
TEST(Flops, ForwardPassOfALayer) {
  Transformer model = Gpt({.hidden = 12288, .layers = 1, .heads = 96, .vocabulary = 51200});
  const ForwardFlops flops = ForwardFlopsOf(model, {.sequence = 2048});
  EXPECT_EQ(flops.products + flops.scores, 7'627'861'917'696);
  EXPECT_EQ(flops.causal_scores, flops.scores / 2);
}

// Of eight experts two count, and the router is apart: 2·8·4096 a token and layer.
TEST(Flops, ExpertsOfATokenCount) {
  const ForwardFlops flops = ForwardFlopsOf(Mixtral(), kOneToken);
  EXPECT_EQ(PerToken(flops.products), 32 * 2.0 * (41'943'040 + 2 * 176'160'768));
  EXPECT_EQ(PerToken(flops.router), 32 * 2.0 * 8 * 4096);
}

// Heads have 128 + 64 numbers for scores and 128 for values, in 61 layers.
TEST(Flops, LatentAttentionHasTwoSizesOfHeads) {
  Transformer model = DeepseekV3();
  model.extra_predictions = 0;
  const ForwardFlops flops = ForwardFlopsOf(model, {.sequence = 4096});
  EXPECT_EQ(flops.scores / 4096, 61 * 2.0 * 4096 * 128 * (192 + 128));
}

// A window of a quarter leaves 1/4 of the square, and of its causal half 1/4 − 1/32. One that is as
// long as the sequence leaves all.
TEST(Flops, AWindowLeavesABand) {
  Transformer model = Llama3();
  const double square = ForwardFlopsOf(model, kOneToken).scores;
  model.blocks[0].block.self.window = 2048;
  const ForwardFlops flops = ForwardFlopsOf(model, kOneToken);
  EXPECT_EQ(flops.scores / square, 0.25);
  EXPECT_EQ(flops.causal_scores / square, 0.25 - 1.0 / 32);
  EXPECT_EQ(ModelFlops(Llama3(), kOneToken) - ModelFlops(model, kOneToken), 3 * 0.75 * square);
  model.blocks[0].block.self.window = 8192;
  EXPECT_EQ(ForwardFlopsOf(model, kOneToken).scores, square);
}

// LoRA: frozen products run forward and backward to their inputs, scores and adapters as ever.
// Adapters of rank 16 stand beside the 4096 × 6144 of queries, keys and values and the 4096 × 4096
// of the output, in 32 layers.
TEST(Flops, FrozenWeightsHaveNoGradients) {
  const ForwardFlops forward = ForwardFlopsOf(Llama3(), kOneToken);
  const double adapters = kOneToken.tokens() * 2 * 32 * 16 * (4096 + 6144 + 4096 + 4096);
  EXPECT_DOUBLE_EQ(ModelFlops(Llama3(), kOneToken, {.adapter_rank = 16}),
                   2 * (forward.products + forward.head) + 3 * (forward.scores + adapters));
  EXPECT_DOUBLE_EQ(ExecutedFlops(Llama3(), kOneToken,
                                 {.rebuilds_scores = false, .trained = {.adapter_rank = 16}}),
                   2 * (forward.products + forward.head) + 3 * (forward.causal_scores + adapters));
}

// The frozen half of 32 blocks runs forward only: of its products two passes of three are not
// there.
TEST(Flops, FrozenBlocksRunForwardOnly) {
  const ForwardFlops forward = ForwardFlopsOf(Llama3(), kOneToken);
  EXPECT_DOUBLE_EQ(ModelFlops(Llama3(), kOneToken, {.frozen_blocks = 16}),
                   2 * (forward.products + forward.scores) + 3 * forward.head);
  EXPECT_DOUBLE_EQ(ExecutedFlops(Llama3(), kOneToken,
                                 {.recompute = Recompute::kFull,
                                  .skips_masked = false,
                                  .rebuilds_scores = false,
                                  .trained = {.frozen_blocks = 16}}),
                   2.5 * (forward.products + forward.scores) + 3 * forward.head);
}

TEST(Flops, WhatIsExecutedHoldsWhatIsRecomputed) {
  const ForwardFlops forward = ForwardFlopsOf(Mixtral(), kOneToken);
  const double plain = ExecutedFlops(Mixtral(), kOneToken, {});
  EXPECT_DOUBLE_EQ(
      plain, 3 * (forward.products + forward.router + forward.head) + 3.5 * forward.causal_scores);
  EXPECT_DOUBLE_EQ(
      ExecutedFlops(Mixtral(), kOneToken, {.recompute = Recompute::kSelective}) - plain,
      forward.causal_scores);
  EXPECT_DOUBLE_EQ(ExecutedFlops(Mixtral(), kOneToken,
                                 {.recompute = Recompute::kFull, .recomputed_share = 0.5}) -
                       plain,
                   (forward.products + forward.router + forward.causal_scores) / 2);
}

// A product of 2·8·2·4 operations forward and twice that backward, for five samples.
TEST(Flops, OfAListOfLayers) {
  const LayerList list = {
      {{.name = "fc", .forward = {*kernel::ParseOperator("gemm m=8 n=2 k=4 fp32")}}}};
  EXPECT_EQ(ModelFlops({.name = "", .body = list}, {.samples = 5}), 5 * 3 * 2 * 8 * 2 * 4);
}

}  // namespace
}  // namespace orrery::workload
