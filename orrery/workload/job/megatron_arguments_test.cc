#include "orrery/workload/job/megatron_arguments.h"

#include <map>
#include <string_view>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/models_test.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

MegatronJob Read(std::string_view text) {
  const auto read = ReadMegatronArguments(text, {});
  EXPECT_TRUE(read) << (read ? "" : read.error().message());
  return read.value_or(MegatronJob{});
}

std::string ErrorOf(std::string_view text) {
  return ReadMegatronArguments(text, {}).error().message();
}

TEST(ShellWords, AreCutAsAShellDoes) {
  EXPECT_EQ(*ShellWords("torchrun --a 1 \\\n  --b='x y' \"--c\" # not this\n--d"),
            (std::vector<std::string>{"torchrun", "--a", "1", "--b=x y", "--c", "--d"}));
  EXPECT_EQ(ShellWords("--a 'open").error().message(), "the quote 'open is not closed");
}

constexpr std::string_view kGpt3 = R"(torchrun --nnodes 16 --nproc_per_node 8 pretrain_gpt.py
  --num-layers 96 --hidden-size 12288 --num-attention-heads 96 --seq-length 2048
  --max-position-embeddings 2048 --micro-batch-size 1 --global-batch-size 1536 --lr 6.0e-5
  --tensor-model-parallel-size 8 --pipeline-model-parallel-size 16 --sequence-parallel
  --num-layers-per-virtual-pipeline-stage 3 --recompute-activations --fp16 --vocab-size 51200
  --distributed-backend nccl)";

// A stage has 96 / 16 = 6 layers, a chunk 3: two chunks.
TEST(MegatronArguments, ReadGpt3) {
  const MegatronJob job = Read(kGpt3);
  EXPECT_EQ(job.plan.tp, 8);
  EXPECT_EQ(job.plan.pp, 16);
  EXPECT_EQ(job.plan.chunks, 2);
  EXPECT_EQ(job.plan.schedule, PipelineSchedule::kInterleaved);
  EXPECT_TRUE(job.plan.sequence_parallel);
  EXPECT_EQ(job.plan.recompute, Recompute::kSelective);
  EXPECT_EQ(job.gpus, 128);
  EXPECT_EQ(job.training.global_batch, 1536);
  EXPECT_EQ(job.training.precision.compute, DataType::kFp16);
  EXPECT_EQ(job.training.precision.gradient_bytes, 2);
  EXPECT_EQ(job.framework.data_overlap, DataOverlap::kAfterBackward);
  EXPECT_TRUE(job.unknown.empty());
  const Model model = {.name = "", .body = *MakeTransformer(job.shape)};
  EXPECT_EQ(TotalParameters(model) - 2 * 12288, 174'615'822'336);
}

TEST(MegatronArguments, ReadLlama3) {
  const MegatronJob job = Read(
      "--num-layers 32 --hidden-size 4096 --ffn-hidden-size 14336 --num-attention-heads 32 "
      "--group-query-attention --num-query-groups 8 --swiglu --normalization RMSNorm "
      "--position-embedding-type rope --disable-bias-linear --vocab-size 128256 "
      "--untie-embeddings-and-output-weights --hidden-dropout 0 --attention-dropout 0.0 "
      "--bf16 --use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather "
      "--tp-comm-overlap --seq-length 8192");
  EXPECT_EQ(*MakeTransformer(job.shape), Llama3());
  EXPECT_EQ(job.plan.sharding, Sharding::kOptimizer);
  EXPECT_EQ(job.framework.data_overlap, DataOverlap::kBuckets);
  EXPECT_EQ(job.framework.tensor_overlap, TensorOverlap::kPipelined);
  EXPECT_TRUE(job.framework.gathers_in_forward);
  EXPECT_EQ(job.training.precision.gradient_bytes, 4);
}

TEST(MegatronArguments, ReadDeepseekV3) {
  const MegatronJob job = Read(
      "--num-layers 61 --hidden-size 7168 --ffn-hidden-size 18432 --num-attention-heads 128 "
      "--multi-latent-attention --q-lora-rank 1536 --kv-lora-rank 512 --qk-head-dim 128 "
      "--qk-pos-emb-head-dim 64 --v-head-dim 128 --swiglu --normalization RMSNorm "
      "--position-embedding-type rope --disable-bias-linear --vocab-size 129280 "
      "--untie-embeddings-and-output-weights --hidden-dropout 0 --attention-dropout 0 "
      "--num-experts 256 --moe-router-topk 8 --moe-ffn-hidden-size 2048 "
      "--moe-layer-freq '([0]*3+[1]*58)' --moe-shared-expert-intermediate-size 2048 "
      "--mtp-num-layers 1 --moe-token-dispatcher-type flex --expert-model-parallel-size 64 "
      "--pipeline-model-parallel-size 16 --expert-tensor-parallel-size 1 --fp8-format hybrid "
      "--decoder-first-pipeline-num-layers 3 --decoder-last-pipeline-num-layers 2 --bf16");
  EXPECT_EQ(*MakeTransformer(job.shape), DeepseekV3());
  EXPECT_EQ(job.plan.dispatch, TokenDispatch::kFlex);
  EXPECT_EQ(job.plan.ep, 64);
  EXPECT_EQ(job.training.precision.gemm_type, DataType::kFp8);
  EXPECT_EQ(job.plan.layers_per_stage,
            (std::vector<int>{3, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 2}));
}

TEST(MegatronArguments, ModulesThatAreRecomputed) {
  const MegatronJob job = Read(
      "--recompute-granularity selective --recompute-modules core_attn layernorm moe_act "
      "shared_experts --bf16 --vocab-size 51200");
  EXPECT_EQ(job.plan.recompute, Recompute::kSelective);
  EXPECT_EQ(job.plan.recompute_parts, (RecomputedParts{.norms = true, .activations = true}));
  EXPECT_EQ(job.not_modelled, (std::vector<std::string>{"--recompute-modules shared_experts"}));
}

// Only what is named is recomputed.
TEST(MegatronArguments, ModulesWithoutAttention) {
  const MegatronJob job =
      Read("--recompute-granularity selective --recompute-modules mla_up_proj --vocab-size 51200");
  EXPECT_EQ(job.plan.recompute, Recompute::kNothing);
  EXPECT_EQ(job.plan.recompute_parts, (RecomputedParts{.latent_up = true}));
}

// Six parts on three stages are two chunks of each.
TEST(MegatronArguments, ALayoutHasVirtualStages) {
  const MegatronJob job = Read(
      "--pipeline-model-parallel-size 3 --pipeline-model-parallel-layout 'Et|(t*2|)*4tL' "
      "--num-layers 10");
  EXPECT_EQ(job.plan.layers_per_stage, (std::vector<int>{1, 2, 2, 2, 2, 1}));
  EXPECT_EQ(job.plan.chunks, 2);
  EXPECT_EQ(job.plan.schedule, PipelineSchedule::kInterleaved);
}

TEST(MegatronArguments, NarrowStates) {
  const MegatronJob job = Read(
      "--bf16 --use-precision-aware-optimizer --exp-avg-dtype fp8 --exp-avg-sq-dtype bf16 "
      "--fp4-format e2m1 --activation-func-fp8-input-store --vocab-size 51200");
  EXPECT_EQ(job.training.precision.moment_bytes, 2);
  EXPECT_EQ(job.training.precision.gemm_type, DataType::kNvfp4);
  EXPECT_EQ(job.training.precision.activation_input_bytes, 1);
  EXPECT_THAT(job.not_modelled, testing::ElementsAre(testing::HasSubstr("--exp-avg-dtype and ")));
}

TEST(MegatronArguments, ParametersThatStayGathered) {
  EXPECT_EQ(Read("--torch-fsdp2-no-reshard-after-forward --use-torch-fsdp2").plan.sharding,
            Sharding::kKeepGathered);
  EXPECT_EQ(Read("--use-torch-fsdp2").plan.sharding, Sharding::kParameters);
}

TEST(MegatronArguments, HeadsAreDealtInsideOfRings) {
  const MegatronJob job = Read(
      "--context-parallel-size 8 --cp-comm-type a2a+p2p --hierarchical-context-parallel-sizes 2 4");
  EXPECT_EQ(job.plan.context, ContextKind::kUlyssesRing);
  EXPECT_EQ(job.plan.ulysses_ranks, 2);
}

// The largest multiple of 64 that is not above 8 · 4096 / 3.
TEST(MegatronArguments, SwigluHasAWidthOfItsOwn) {
  EXPECT_EQ(Read("--hidden-size 4096 --swiglu").shape.ffn, 10'880);
  EXPECT_EQ(Read("--hidden-size 4096").shape.ffn, 0);
}

TEST(MegatronArguments, WhatIsNotUnderstoodIsListed) {
  const MegatronJob job = Read("--hidden-size 8 --make-it-fast 3 --num_layers=2 --very-new=7");
  EXPECT_EQ(job.unknown, (std::vector<std::string>{"--make-it-fast", "--very-new"}));
  EXPECT_EQ(job.shape.layers, 2);
}

// A job with one flag mistyped is another job: two letters swapped, a word missing, one too many.
TEST(MegatronArguments, WhatLooksLikeAFlagOfThePlanIsRefused) {
  EXPECT_EQ(ErrorOf("--num-layers 2 --tensor-modle-parallel-size 2"),
            "--tensor-modle-parallel-size is unknown and looks like --tensor-model-parallel-size, "
            "which decides the job: correct or remove it");
  const std::map<std::string, std::string> expected{
      {"--model-parallel-size", "tensor-model-parallel-size"},
      {"--pipeline-parallel-size", "pipeline-model-parallel-size"},
      {"--micro-batchsize", "micro-batch-size"},
      {"--batch-size", "micro-batch-size"},
      {"--num_layer", "num-layers"},
      {"--hiden-size", "hidden-size"},
      {"--decoder-num-layers", "num-layers"},
      {"--max-position-embedding", "max-position-embeddings"}};
  for (const auto& [given, meant] : expected) {
    EXPECT_THAT(ErrorOf(given + " 2"), testing::HasSubstr("looks like --" + meant + ",")) << given;
  }
  // These change no plan, model or batch.
  const MegatronJob job =
      Read("--lr-warmup-steps 2 --log-memory-to-tensorboard --fp8-dot --rampup-batch-size 2");
  EXPECT_EQ(job.unknown.size(), 4U);
}

// 0-based layers 1 and 3 of four see the whole sequence.
TEST(MegatronArguments, WindowsOfSomeLayers) {
  const MegatronJob job = Read("--num-layers 4 --window-size 128,0 --window-attn-skip-freq 2");
  EXPECT_EQ(job.shape.window, 128);
  EXPECT_EQ(job.shape.window_layers, (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(Read("--num-layers 3 --window-size 128,0 --window-attn-skip-freq [0]+[1]*2")
                .shape.window_layers,
            (std::vector<bool>{false, true, true}));
  EXPECT_EQ(ErrorOf("--num-layers 3 --window-attn-skip-freq [1]*2"),
            "--window-attn-skip-freq cannot be '[1]*2' for 3 layers");
}

TEST(MegatronArguments, AValueThatCannotBeReadIsNamed) {
  EXPECT_EQ(ErrorOf("--num-layers many"), "--num-layers cannot be 'many'");
  EXPECT_EQ(ErrorOf("--num-layers --bf16"), "--num-layers needs a value");
  EXPECT_EQ(ErrorOf("--cp-comm-type magic"), "--cp-comm-type cannot be 'magic'");
  EXPECT_EQ(ErrorOf("--num-layers 10 --num-experts 4 --moe-layer-freq [0]*3"),
            "--moe-layer-freq cannot be '[0]*3' for 10 layers");
}

TEST(MegatronArguments, PatternsOfExperts) {
  EXPECT_EQ(*ExpertPattern("2", 4), (std::vector<bool>{true, false, true, false}));
  EXPECT_EQ(*ExpertPattern("[0,1]*2", 4), (std::vector<bool>{false, true, false, true}));
  EXPECT_EQ(*ExpertPattern("([0]*1 + [1]*2)", 3), (std::vector<bool>{false, true, true}));
  EXPECT_FALSE(ExpertPattern("[2]", 1));
  EXPECT_FALSE(ExpertPattern("[1]*", 1));
  EXPECT_FALSE(ExpertPattern("0", 1));
}

}  // namespace
}  // namespace orrery::workload
