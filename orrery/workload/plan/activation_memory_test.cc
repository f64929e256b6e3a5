#include "orrery/workload/plan/activation_memory.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <variant>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

// Most micro-batches that a device holds at once, counted in chunks.
int MostChunksInFlight(const std::vector<PipelineStep>& steps) {
  int held = 0;
  int most = 0;
  for (const PipelineStep& step : steps) {
    if (step.pass == PipelinePass::kForward) {
      most = std::max(most, ++held);
    } else if (step.pass != PipelinePass::kInputBackward) {
      --held;
    }
  }
  return most;
}

/// In hundredths of a GiB, as tables print it.
std::int64_t Hundredths(std::int64_t bytes) {
  return std::llround(static_cast<double>(bytes) / static_cast<double>(1 << 30) * 100);
}

/// A job whose parts tests change; training sees sequences of 2,048 unless they say else.
struct Case {
  Transformer model;
  Training training = {};
  Plan plan = {};
  Framework framework = {};

  [[nodiscard]] ActivationSetting Setting() const { return {model, training, plan, framework}; }

  [[nodiscard]] const Block& FirstBlock() const { return model.blocks.front().block; }

  [[nodiscard]] BlockActivations Activations() const {
    return ActivationsOf(FirstBlock(), Setting());
  }

  [[nodiscard]] std::int64_t Kept() const { return KeptBytes(Activations(), plan, plan.recompute); }
};

/// One of Korthikanti's models: materialised attention, dropout, t = 8.
struct Published {
  std::int64_t hidden, heads, layers;
  int stages, chunks;
  std::int64_t micro_batch;
};

constexpr Published k22b{6144, 64, 48, 1, 1, 4};
constexpr Published k175b{12288, 96, 96, 8, 3, 1};
constexpr Published k530b{20480, 128, 105, 35, 3, 1};
constexpr Published k1t{25600, 160, 128, 64, 1, 1};

Case CaseOf(const Published& published) {
  Case result{.model = Gpt({.hidden = published.hidden,
                            .layers = published.layers,
                            .heads = published.heads,
                            .vocabulary = 51200})};
  result.model.dropout = 0.1;
  result.model.attention_dropout = 0.1;
  result.training.sequence = 2048;
  result.training.micro_batch = published.micro_batch;
  result.plan.tp = 8;
  result.framework.attention = AttentionKernel::kMaterialised;
  return result;
}

/// Blocks that the first stage holds at its fullest, each for one micro-batch.
std::int64_t BlocksInFlight(const Published& published) {
  const PipelineShape shape{
      published.chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1f1b,
      published.stages, published.chunks, 512};
  const auto steps = ScheduleOf(shape, 0);
  EXPECT_TRUE(steps.has_value());
  return MostChunksInFlight(*steps) * published.layers /
         (std::int64_t{published.stages} * published.chunks);
}

std::int64_t FirstStage(const Published& published, bool sequence_parallel, Recompute recompute) {
  Case job = CaseOf(published);
  job.plan.sequence_parallel = sequence_parallel;
  job.plan.recompute = recompute;
  return Hundredths(job.Kept() * BlocksInFlight(published));
}

TEST(ActivationMemoryTest, FirstStagesOfKorthikantisModelsHoldThePublishedGibibytes) {
  struct Row {
    Published model;
    std::int64_t tensor, sequence, tensor_selective, sequence_selective, full;
  };

  for (const Row& row :
       {Row{k22b, 5925, 3956, 2925, 956, 450}, Row{k175b, 6684, 4141, 3778, 1235, 581},
        Row{k530b, 11402, 6651, 7059, 2308, 1086}, Row{k1t, 13125, 7656, 8125, 2656, 1250}}) {
    EXPECT_EQ(FirstStage(row.model, false, Recompute::kNothing), row.tensor);
    EXPECT_EQ(FirstStage(row.model, true, Recompute::kNothing), row.sequence);
    EXPECT_EQ(FirstStage(row.model, false, Recompute::kSelective), row.tensor_selective);
    EXPECT_EQ(FirstStage(row.model, true, Recompute::kSelective), row.sequence_selective);
    EXPECT_EQ(FirstStage(row.model, false, Recompute::kFull), row.full);
  }
}

// sbh(34 + 5as/h) on one GPU: 34 · 2048 · 12288 + 5 · 96 · 2048².
TEST(ActivationMemoryTest, WithoutParallelismABlockKeepsKorthikantisSum) {
  Case job = CaseOf(k175b);
  job.plan.tp = 1;
  EXPECT_EQ(job.Kept(), 34LL * 2048 * 12288 + 5LL * 96 * 2048 * 2048);
}

// An output of 2sbh = 80 MiB of each of 35 micro-batches.
TEST(ActivationMemoryTest, OutputsOfTheFirstStageOf530bAreAsPublished) {
  EXPECT_EQ(Hundredths(35 * BlockOutputBytes(CaseOf(k530b).Setting())), 273);
}

TEST(ActivationMemoryTest, MessagesBetweenStagesShrinkWithSequenceParallelism) {
  Case job = CaseOf(k175b);
  EXPECT_EQ(BlockOutputBytes(job.Setting()), 50'331'648);
  job.plan.sequence_parallel = true;
  EXPECT_EQ(BlockOutputBytes(job.Setting()), 6'291'456);
}

// The mask of the embedding's dropout sbh/t; norm, head and logits 4sbh/t · (1 + V/h).
TEST(ActivationMemoryTest, EndsKeepMasksInputsAndLogits) {
  Case job = CaseOf(k22b);
  job.plan.sequence_parallel = true;
  const std::int64_t elements = 4LL * 2048 * 6144 / 8;
  EXPECT_EQ(EmbeddingActivationBytes(job.Setting()), elements);
  const HeadActivations head = HeadActivationsOf(job.Setting(), 51200);
  EXPECT_EQ(head.inputs, 4 * elements);
  EXPECT_EQ(head.logits, 4LL * 4 * 2048 * 51200 / 8);
  EXPECT_EQ(head.working, head.logits / 4 * (2 + 4 + 4));
  job.framework.loss_in_place = true;
  EXPECT_EQ(HeadActivationsOf(job.Setting(), 51200).working, head.logits / 4 * 2);
  job.framework.fuses_cross_entropy = true;
  EXPECT_EQ(HeadActivationsOf(job.Setting(), 51200).working, head.logits / 4 * (2 + 4));
  job.framework.loss_in_place = false;
  job.model.dropout = 0;
  EXPECT_EQ(EmbeddingActivationBytes(job.Setting()), 0);
  EXPECT_EQ(HeadActivationsOf(job.Setting(), 51200).working, 0);
}

Case Llama() {
  Case job{.model = Llama3()};
  job.training.sequence = 8192;
  return job;
}

// A token of Llama 3 8B keeps 8h + 4a·d + 4kv·d + 6f + 4a = 139,392 bytes.
TEST(ActivationMemoryTest, ALayerOfTodayKeepsThirtyFourTimesItsWidth) {
  Case job = Llama();
  EXPECT_EQ(job.Kept(), 8192 * 139'392LL);
  job.training.micro_batch = 3;
  job.plan.cp = 2;
  EXPECT_EQ(job.Kept(), 3 * 4096 * 139'392LL);
}

// 8h of 139,392 stay whole under tensor parallelism alone.
TEST(ActivationMemoryTest, SequenceParallelismDividesTheRest) {
  Case job = Llama();
  job.plan.tp = 8;
  EXPECT_EQ(job.Kept(), 8192LL * (8 * 4096 + (139'392 - 8 * 4096) / 8));
  job.plan.sequence_parallel = true;
  EXPECT_EQ(job.Kept(), 8192 * 139'392LL / 8);
}

// Inputs of four products, one byte less each: 2h, a·d and f elements.
TEST(ActivationMemoryTest, NarrowGemmsKeepNarrowInputs) {
  Case job = Llama();
  job.training.precision.gemm_type = DataType::kFp8;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 - 2 * 4096 - 4096 - 14336));
}

// Four bytes for each of the 139,392 − 4a that are activations of two.
TEST(ActivationMemoryTest, Fp32DoublesActivations) {
  Case job = Llama();
  job.training.precision.compute = DataType::kFp32;
  job.training.precision.gemm_type = DataType::kFp32;
  EXPECT_EQ(job.Kept(), 8192LL * (2 * (139'392 - 128) + 128));
}

TEST(ActivationMemoryTest, RecomputationKeepsLess) {
  Case job = Llama();
  job.plan.recompute = Recompute::kSelective;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 - 4 * 32));
  job.plan.recompute = Recompute::kFull;
  EXPECT_EQ(job.Kept(), 8192LL * 2 * 4096);
}

TEST(ActivationMemoryTest, SomeBlocksOfAStageMayBeRecomputed) {
  Plan plan;
  plan.recompute = Recompute::kFull;
  EXPECT_EQ(RecomputeOf(plan, {7, 7}), Recompute::kFull);
  plan.recompute_layers = 2;
  EXPECT_EQ(RecomputeOf(plan, {1, 9}), Recompute::kFull);
  EXPECT_EQ(RecomputeOf(plan, {2, 10}), Recompute::kNothing);
  plan.recompute = Recompute::kSelective;
  EXPECT_EQ(RecomputeOf(plan, {2, 10}), Recompute::kSelective);
}

/// The blocks of twelve that are recomputed, counted from 0.
std::vector<int> RecomputedOfTwelve(double share) {
  Plan plan;
  plan.recompute = Recompute::kFull;
  plan.recompute_share = share;
  std::vector<int> blocks;
  for (int i = 0; i < 12; ++i) {
    if (RecomputeOf(plan, {i, i}) == Recompute::kFull) {
      blocks.push_back(i);
    }
  }
  return blocks;
}

// The n-th block is recomputed where n · p passes ½, 1½, 2½ …: for a third at n = 2, 5, 8, 11; for
// three quarters at n = 1, 2 (1.5), 4 (3 ≥ 2.5), 5, 6 (4.5), 8, 9, 10, 12.
TEST(ActivationMemoryTest, AShareOfBlocksIsRecomputedEvenly) {
  EXPECT_EQ(RecomputedOfTwelve(1.0 / 3), (std::vector<int>{1, 4, 7, 10}));
  EXPECT_EQ(RecomputedOfTwelve(0.75), (std::vector<int>{0, 1, 3, 4, 5, 7, 8, 9, 11}));
  EXPECT_EQ(RecomputedOfTwelve(0).size(), 0);
  EXPECT_EQ(RecomputedOfTwelve(1).size(), 12);
}

// Eager kernels: the gate's activation (2f) and, for each of two norms, a copy in fp32 (4h).
TEST(ActivationMemoryTest, UnfusedKernelsKeepMore) {
  Case job = Llama();
  job.framework.fuses_bias_activation = false;
  job.framework.fuses_norm = false;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 + 2 * 14336 + 2 * 4 * 4096));
  job.framework.is_compiled = true;
  EXPECT_EQ(job.Kept(), 8192LL * 139'392);
}

// Mixtral: instead of 6f a token keeps twice 2h + 6f, probabilities of 8 experts and two choices.
TEST(ActivationMemoryTest, RoutedTokensAreKeptOncePerExpert) {
  Case job{.model = Mixtral()};
  job.training.sequence = 1000;
  const std::int64_t routed = 2 * (2 * 4096 + 6 * 14336);
  const std::int64_t rest = 139'392 - 6 * 14336 + 4 * 8 + 8 * 2;
  EXPECT_EQ(job.Kept(), 1000 * (rest + routed));
  job.plan.token_imbalance = 1.5;
  EXPECT_EQ(job.Kept(), 1000 * rest + 1500 * routed);
  job.plan.recompute_parts.experts = true;
  EXPECT_EQ(job.Kept(), 1000 * (rest - 4 * 8 - 8 * 2));
}

// Two experts of a token keep 2f once more before their weight, unless a kernel does both with the
// gate.
TEST(ActivationMemoryTest, ExpertsWithoutAGateKeepTheirActivationBeforeItsWeight) {
  Case job{.model = Mixtral()};
  job.training.sequence = 1000;
  const auto more = [&] {
    job.framework.weighs_in_experts = false;
    const std::int64_t plain = job.Kept();
    job.framework.weighs_in_experts = true;
    return job.Kept() - plain;
  };
  EXPECT_EQ(more(), 0);
  std::get<Experts>(job.model.blocks.front().block.mlp).expert.is_gated = false;
  EXPECT_EQ(more(), 1000LL * 2 * 2 * 14336);
}

// DeepSeek-V3, a dense layer: narrow vectors 1536 + 512 twice and 64 once; queries and keys of
// 128 · 192, values and output of 128 · 128.
TEST(ActivationMemoryTest, LatentAttentionKeepsItsNarrowVectors) {
  Case job{.model = DeepseekV3()};
  job.training.sequence = 1;
  EXPECT_EQ(job.Activations().attention,
            2 * 7168 + 4 * (1536 + 512) + 2 * 64 + 2 * 128 * (192 + 192 + 128 + 128));
}

// Llama 3 8B: two norms make inputs of products (2h each), the activation that of the last one
// (2f).
TEST(ActivationMemoryTest, RecomputedPartsDropTheirResults) {
  Case job = Llama();
  job.plan.recompute_parts.norms = true;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 - 4 * 4096));
  job.plan.recompute_parts.activations = true;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 - 4 * 4096 - 2 * 14336));
  // Unfused, the gate's activation (2f) comes back as well; two copies of norms in fp32 stay.
  job.framework.fuses_bias_activation = false;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 - 4 * 4096 - 2 * 14336));
  job.plan.recompute_parts.latent_up = true;
  job.plan.recompute_parts.experts = true;
  EXPECT_EQ(job.Kept(), 8192LL * (139'392 - 4 * 4096 - 2 * 14336));
}

// The kept part of a gathered sequence is not the result of the norm.
TEST(ActivationMemoryTest, GatheredInputsStayWhenNormsAreRecomputed) {
  Case job = Llama();
  job.plan.tp = 8;
  job.plan.sequence_parallel = true;
  job.framework.keeps_gathered_inputs = true;
  const std::int64_t before = job.Kept();
  job.plan.recompute_parts.norms = true;
  EXPECT_EQ(job.Kept(), before);
  job.framework.keeps_gathered_inputs = false;
  EXPECT_EQ(job.Kept(), 8192LL / 8 * (139'392 - 4 * 4096));
}

// A token in a layer of DeepSeek-V3 with experts, GEMMs in fp8, as its report keeps it (3.2.3,
// 3.3.3): inputs of two norms 4h; narrow vectors before their norms 2 · (1536 + 512), and 2 · 64 of
// rope; the attention's output 128 · 128, its sums 4 · 128; router 4 · 256 + 8 · 8; inputs of
// SwiGLU in a byte, 2 · 2048 of the shared expert; of eight experts the vector h and 2 · 2048.
TEST(ActivationMemoryTest, DeepseekKeepsLittle) {
  Case job{.model = DeepseekV3()};
  job.training.sequence = 1;
  job.training.precision.gemm_type = DataType::kFp8;
  job.training.precision.activation_input_bytes = 1;
  job.plan.recompute_parts = {.norms = true, .latent_up = true, .activations = true};
  const Block& block = job.model.blocks.back().block;
  const std::int64_t attention = 2 * (1536 + 512) + 2 * 64 + 128 * 128 + 4 * 128;
  const std::int64_t experts = 4 * 256 + 8 * 8 + 2 * 2048 + 8 * (7168 + 2 * 2048);
  EXPECT_EQ(KeptBytes(ActivationsOf(block, job.Setting()), job.plan, Recompute::kNothing),
            4 * 7168 + attention + experts);
}

}  // namespace
}  // namespace orrery::workload
