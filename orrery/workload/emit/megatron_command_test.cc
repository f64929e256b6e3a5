#include "orrery/workload/emit/megatron_command.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/emit/pipeline_split.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/job_file.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

// The command as `megatron:` of a job file.
Result<JobFile> ReadAgain(const std::string& command, const Job& job) {
  std::string yaml = "megatron: |\n  ";
  for (const char c : command) {
    yaml += c == '\n' ? std::string("\n  ") : std::string(1, c);
  }
  return ReadJob(
      {.yaml = fmt::format("{}\ncluster: {}\ngpus: {}\n", yaml, job.cluster.name, job.gpus),
       .place = "again.yaml"});
}

template <typename Value>
Value One(std::vector<Value> values) {
  return *rc::gen::elementOf(std::move(values));
}

bool Sometimes() {
  return *rc::gen::arbitrary<bool>();
}

// One time in ten, for values that most jobs do not have.
bool Seldom() {
  return *rc::gen::inRange(0, 10) == 0;
}

void DrawExperts(TransformerShape& shape) {
  shape.experts = One<std::int64_t>({4, 8});
  shape.experts_per_token = One<std::int64_t>({1, 2});
  shape.expert_ffn = One<std::int64_t>({0, 256});
  shape.shared_ffn = One<std::int64_t>({0, 512});
  shape.shared_gate = Sometimes();
  shape.dense_layers = *rc::gen::inRange<std::int64_t>(0, 3);
  shape.moe_every = One<std::int64_t>({1, 2});
}

void DrawAttention(TransformerShape& shape) {
  shape.rope = Sometimes();
  shape.positions = !shape.rope && Sometimes() ? 4096 : 0;
  if (Seldom()) {
    shape.rope = true;
    shape.positions = 0;
    shape.head_size = 32;
    shape.value_head_size = One<std::int64_t>({32, 48});
    shape.key_value_rank = 64;
    shape.query_rank = One<std::int64_t>({0, 128});
    shape.rope_size = 16;
    return;
  }
  shape.kv_heads = One<std::int64_t>({0, 2, 8});
  shape.head_size = One<std::int64_t>({0, 128});
  shape.window = One<std::int64_t>({0, 0, 128});
  if (shape.window > 0 && Sometimes()) {
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      shape.window_layers.push_back(Sometimes());
    }
  }
}

TransformerShape DrawShape(bool is_odd) {
  TransformerShape shape = {.hidden = One<std::int64_t>({512, 1024}),
                            .layers = *rc::gen::inRange<std::int64_t>(2, 17),
                            .heads = 8,
                            .ffn = One<std::int64_t>({0, 768}),
                            .vocabulary = 32'000};
  shape.gated = Sometimes();
  shape.activation = shape.gated ? Activation::kSilu
                                 : One<Activation>({Activation::kGelu, Activation::kSquaredRelu});
  shape.activation = is_odd && Seldom() ? Activation::kRelu : shape.activation;
  shape.attention_bias = Sometimes();
  shape.ffn_bias = is_odd && Seldom() ? Sometimes() : shape.attention_bias;
  shape.qkv_bias = Sometimes();
  shape.norm = One<NormKind>({NormKind::kLayer, NormKind::kRms});
  shape.qk_norm = Sometimes();
  shape.tied = Sometimes();
  shape.parallel = is_odd && Seldom();
  shape.dropout = One<double>({0, 0.1});
  shape.attention_dropout = One<double>({0, 0.05});
  shape.extra_predictions = Seldom() ? 1 : 0;
  DrawAttention(shape);
  if (Sometimes()) {
    DrawExperts(shape);
  }
  return shape;
}

void DrawStates(Job& job) {
  Precision& precision = job.training.precision;
  precision.compute = One<DataType>({DataType::kBf16, DataType::kFp16, DataType::kFp32});
  precision.gemm_type = precision.compute;
  if (precision.compute == DataType::kBf16) {
    precision.gemm_type =
        One<DataType>({DataType::kBf16, DataType::kFp8, DataType::kFp8Block, DataType::kNvfp4});
  }
  const bool is_half = precision.compute != DataType::kFp32;
  precision.gradient_bytes = is_half ? One<int>({2, 4}) : 4;
  precision.gathered_bytes = is_half ? 2 : 4;
  precision.has_master = Seldom() ? Sometimes() : is_half;
  precision.moment_bytes = One<int>({4, 4, 2, 1});
  job.plan.sharding = static_cast<Sharding>(*rc::gen::inRange(0, 5));
  if (job.plan.sharding != Sharding::kReplicated) {
    precision.gathered_bytes = Seldom() ? 1 : precision.gathered_bytes;
    job.plan.shard_ranks = job.plan.dp % 2 == 0 && Sometimes() ? job.plan.dp * job.plan.cp / 2 : 0;
  }
  job.plan.offload_optimizer = Seldom();
  job.training.optimizer = Seldom() ? OptimizerKind::kSgd : OptimizerKind::kAdam;
  precision.activation_input_bytes = Seldom() ? 1 : 0;
}

void DrawRecompute(Plan& plan) {
  plan.recompute = static_cast<Recompute>(*rc::gen::inRange(0, 4));
  plan.recompute_layers = plan.recompute == Recompute::kFull ? *rc::gen::inRange(0, 3) : 0;
  plan.recompute_share = plan.recompute == Recompute::kFull && Seldom() ? 0.5 : 1;
  if (plan.recompute != Recompute::kFull || plan.recompute_layers > 0) {
    plan.recompute_parts = {.norms = Seldom(), .activations = Seldom(), .mlp = Seldom()};
  }
}

void DrawExpertPlan(Plan& plan) {
  plan.ep = One<int>({1, 2, 4});
  plan.expert_tp = One<int>({1, plan.tp});
  plan.dispatch = static_cast<TokenDispatch>(*rc::gen::inRange(0, 3));
  plan.capacity_factor = Seldom() ? 1.25 : 0;
  plan.expert_nodes = Seldom() ? 2 : 0;
  plan.token_imbalance = Seldom() ? 1.1 : 1;
}

void DrawPlan(const TransformerShape& shape, Plan& plan) {
  plan.tp = One<int>({1, 2, 4});
  plan.cp = One<int>({1, 1, 2, 4});
  plan.dp = One<int>({1, 2, 4, 8});
  plan.pp = One<int>({1, 2, 3, 4});
  plan.dp = plan.pp == 3 ? 8 : plan.dp;  // whole nodes
  plan.sequence_parallel = Sometimes();
  plan.chunks = plan.pp > 1 ? One<int>({1, 1, 2, 3}) : 1;
  plan.schedule = plan.chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1f1b;
  if (plan.chunks == 1 && Seldom()) {
    plan.schedule = PipelineSchedule::kGpipe;
  }
  if (plan.pp == 2 && plan.chunks == 1 && Seldom()) {
    plan.layers_per_stage = {1, static_cast<int>(shape.layers) - 1};
  }
  plan.counts_embedding = Seldom();
  plan.counts_loss = Seldom();
  plan.pipeline_is_innermost = Seldom();
  if (plan.cp > 1) {
    plan.context = static_cast<ContextKind>(*rc::gen::inRange(0, 4));
    plan.ulysses_ranks = plan.context == ContextKind::kUlyssesRing ? 2 : 1;
    plan.context_is_balanced = !Seldom();
  }
  DrawRecompute(plan);
}

bool UsesFp8(const Precision& precision) {
  return precision.gemm_type == DataType::kFp8 || precision.gemm_type == DataType::kFp8Block;
}

void RepairStates(const TransformerShape& shape, Job& job) {
  Precision& precision = job.training.precision;
  Plan& plan = job.plan;
  const bool is_fp16 = precision.compute == DataType::kFp16;
  plan.ep = is_fp16 ? 1 : plan.ep;
  if (plan.sharding == Sharding::kKeepGathered) {
    plan.shard_ranks = 0;
    plan.sharding =
        plan.pp > 1 || plan.ep > 1 || shape.tied || is_fp16 ? Sharding::kParameters : plan.sharding;
  }
  if (plan.sharding == Sharding::kReplicated || plan.sharding == Sharding::kKeepGathered) {
    precision.moment_bytes = 4;
    plan.offload_optimizer = false;
  }
  const bool is_half = precision.compute != DataType::kFp32;
  precision.has_master = is_half;
  if (!UsesFp8(precision)) {
    precision.gathered_bytes = is_half ? 2 : 4;
  }
  precision.activation_input_bytes = shape.gated ? precision.activation_input_bytes : 0;
}

// Takes out of a job what Megatron-LM has no argument for.
void Repair(const TransformerShape& shape, Job& job) {
  Plan& plan = job.plan;
  plan.sequence_parallel = plan.sequence_parallel || (HasExperts(job.model) && plan.tp > 1);
  plan.schedule = plan.chunks > 1 ? PipelineSchedule::kInterleaved : PipelineSchedule::k1f1b;
  plan.context_is_balanced = true;
  plan.expert_nodes = 0;
  plan.token_imbalance = 1;
  plan.recompute = plan.recompute == Recompute::kOperators ? Recompute::kNothing : plan.recompute;
  plan.recompute_share = 1;
  if (plan.recompute == Recompute::kFull) {
    plan.recompute_parts = {};
  }
  job.framework = *FindFramework("megatron-lm");
  RepairStates(shape, job);
}

// Not always one that fits together.
Job DrawJob(const TransformerShape& shape, const Transformer& model) {
  Job job;
  job.model = {.name = "drawn", .body = model};
  DrawPlan(shape, job.plan);
  if (HasExperts(job.model)) {  // if dense layers left some
    DrawExpertPlan(job.plan);
  }
  DrawStates(job);
  job.gpus = job.plan.tp * job.plan.pp * job.plan.cp * job.plan.dp;
  job.cluster = *hardware::FindCluster("DGX H100");
  job.gpu = *hardware::FindGpu(job.cluster.gpu);
  job.framework = *FindFramework(Seldom() ? "torch-fsdp" : "megatron-lm");
  job.training.sequence = One<std::int64_t>({512, 4096});
  job.training.micro_batch = *rc::gen::inRange<std::int64_t>(1, 4);
  job.training.global_batch =
      job.training.micro_batch * job.plan.dp * job.plan.pp * *rc::gen::inRange<std::int64_t>(1, 5);
  return job;
}

// Layers that are dealt unevenly are read as a list; SplitOf tells whether it is the same one.
Plan WithoutSplit(Plan plan) {
  plan.layers_per_stage.clear();
  plan.counts_embedding = false;
  plan.counts_loss = false;
  return plan;
}

// A command that is read again is the same job, or the emission says what is missing.
RC_GTEST_PROP(MegatronCommandProperty, IsReadAsTheSameJob, ()) {
  const bool is_odd = *rc::gen::inRange(0, 4) == 0;
  const TransformerShape shape = DrawShape(is_odd);
  const auto model = MakeTransformer(shape);
  RC_PRE(model.has_value());
  Job job = DrawJob(shape, *model);
  if (!is_odd) {
    Repair(shape, job);
  }
  RC_PRE(CheckJob(job).has_value());
  const auto emitted = MegatronCommand(job);
  RC_ASSERT(emitted.has_value());
  RC_CLASSIFY(!emitted->not_expressed.empty(), "not expressed");
  RC_ASSERT(is_odd || emitted->not_expressed.empty());
  if (!emitted->not_expressed.empty()) {
    return;
  }
  const auto again = ReadAgain(emitted->text, job);
  if (!again) {
    RC_FAIL(again.error().message() + "\n" + emitted->text);
  }
  RC_LOG() << emitted->text;
  RC_ASSERT(*again->job.model.transformer() == *model);
  RC_ASSERT(again->job.training == job.training);
  RC_ASSERT(WithoutSplit(again->job.plan) == WithoutSplit(job.plan));
  RC_ASSERT(SplitOf(again->job, *model)->blocks == SplitOf(job, *model)->blocks);
  RC_ASSERT(again->job.gpus == job.gpus);
  RC_ASSERT(again->job.framework.data_overlap == job.framework.data_overlap);
  RC_ASSERT(again->job.framework.fuses_permute == job.framework.fuses_permute);
  RC_ASSERT(again->not_modelled.empty());
}

// As above, for each model of the catalogue that is a decoder.
TEST(MegatronCommand, ModelsOfTheCatalogueAreReadAgain) {
  int read = 0;
  for (const Preset& preset : Presets().models) {
    const auto* const shape = std::get_if<TransformerShape>(&preset.facts);
    if (shape == nullptr) {
      continue;
    }
    const auto model = MakeTransformer(*shape);
    ASSERT_TRUE(model.has_value()) << preset.name;
    Job job;
    job.model = {.name = preset.name, .body = *model};
    job.training.sequence = 1024;
    job.cluster = *hardware::FindCluster("DGX H100");
    job.framework = *FindFramework("megatron-lm");
    const auto emitted = MegatronCommand(job);
    if (!emitted || !emitted->not_expressed.empty()) {
      continue;
    }
    const auto again = ReadAgain(emitted->text, job);
    ASSERT_TRUE(again.has_value()) << again.error().message();
    EXPECT_EQ(*again->job.model.transformer(), *model) << emitted->text;
    ++read;
  }
  EXPECT_GT(read, 60);
}

Job JobOf(const std::string& yaml) {
  auto file = ReadJob({.yaml = yaml + "\ncluster: DGX H100\n", .place = "job.yaml"});
  EXPECT_TRUE(file.has_value()) << (file ? "" : file.error().message());
  return file ? file->job : Job();
}

EmittedJob Emit(const std::string& yaml) {
  auto emitted = MegatronCommand(JobOf(yaml));
  EXPECT_TRUE(emitted.has_value()) << (emitted ? "" : emitted.error().message());
  return emitted.value_or(EmittedJob());
}

// Eight stages of 126 layers: with both ends 128, sixteen each.
TEST(MegatronCommand, EndsCountWhereThatMakesStagesEven) {
  const EmittedJob job = Emit(
      "model: llama3.1-405b\ntraining: {sequence: 8192, global_batch: 8}\nplan: {tp: 8, pp: 8}\n"
      "gpus: 64\nframework: megatron-lm");
  EXPECT_THAT(job.text, HasSubstr("--account-for-embedding-in-pipeline-split \\\n  "
                                  "--account-for-loss-in-pipeline-split"));
  EXPECT_THAT(job.not_expressed, IsEmpty());
}

TEST(MegatronCommand, OtherSplitsAreALayout) {
  const EmittedJob job = Emit(
      "model: {preset: llama3-8b, layers: 7}\ntraining: {sequence: 8192, global_batch: 8}\n"
      "plan: {pp: 2, chunks: 2, layers_per_stage: [5, 2]}\ngpus: 2\nframework: megatron-lm");
  // The first stage has parts 0 and 2 (three layers and two), the second one layer in each.
  EXPECT_THAT(job.text, HasSubstr("--pipeline-model-parallel-layout 'Et*3|t|t*2|tL'"));
  EXPECT_THAT(job.text, Not(HasSubstr("--num-virtual-stages-per-pipeline-rank")));
}

TEST(MegatronCommand, WhatMegatronCannotDoIsSaid) {
  EXPECT_THAT(Emit("model: mixtral-8x7b\ntraining: {sequence: 4096, global_batch: 64}\n"
                   "plan: {pp: 4, ep: 8, schedule: zb-v, token_imbalance: 1.1, expert_nodes: 1}\n"
                   "gpus: 32\nframework: megatron-lm")
                  .not_expressed,
              ElementsAre(HasSubstr("plan.schedule zb-v: "), HasSubstr("plan.expert_nodes 1: "),
                          HasSubstr("plan.token_imbalance describes ")));
  EXPECT_THAT(
      Emit("model: llama3-8b\ntraining: {sequence: 4096, global_batch: 8, moment_bytes: 2}\n"
           "plan: {recompute: full, recompute_share: 0.5}\ngpus: 8\nframework: nanotron")
          .not_expressed,
      ElementsAre(HasSubstr("plan.recompute full: "), HasSubstr("training.moment_bytes 2: "),
                  HasSubstr("framework nanotron: ")));
}

TEST(MegatronCommand, LayersOfSeveralShapesAreRefused) {
  Job job = JobOf("model: llama3-8b\ntraining: {sequence: 8192, global_batch: 8}\ngpus: 8");
  Transformer model = *job.model.transformer();
  model.blocks.push_back(model.blocks.front());
  model.blocks.back().block.self.heads = 16;
  job.model.body = model;
  EXPECT_EQ(MegatronCommand(job).error().message(),
            "the layers of the model differ in more than experts and windows");
}

TEST(MegatronCommand, OtherModelsAreRefused) {
  // An image has as many tokens as it has.
  for (const auto& [name, sequence] :
       {std::pair("bert-large", "sequence: 128, "), std::pair("t5-11b", "sequence: 128, "),
        std::pair("vit-l16", "")}) {
    const Job job =
        JobOf(fmt::format("model: {}\ntraining: {{{}global_batch: 8}}\ngpus: 8", name, sequence));
    const auto emitted = MegatronCommand(job);
    ASSERT_FALSE(emitted.has_value()) << name;
    EXPECT_THAT(emitted.error().message(), HasSubstr("is no language model with a decoder alone"));
  }
}

}  // namespace
}  // namespace orrery::workload
