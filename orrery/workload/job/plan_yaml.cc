#include "orrery/workload/job/plan_yaml.h"

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include <fmt/core.h>

namespace orrery::workload {
namespace {

using kernel::DataType;

constexpr std::array<Spelling<PipelineSchedule>, 6> kSchedules{{
    {"gpipe", PipelineSchedule::kGpipe},
    {"1f1b", PipelineSchedule::k1f1b},
    {"interleaved", PipelineSchedule::kInterleaved},
    {"zb-h1", PipelineSchedule::kZeroBubbleH1},
    {"zb-v", PipelineSchedule::kZeroBubbleV},
    {"dualpipe", PipelineSchedule::kDualPipe},
}};

constexpr std::array<Spelling<ContextKind>, 4> kContexts{{
    {"ring", ContextKind::kRing},
    {"all_gather", ContextKind::kAllGather},
    {"ulysses", ContextKind::kUlysses},
    {"ulysses_ring", ContextKind::kUlyssesRing},
}};

constexpr std::array<Spelling<Sharding>, 7> kShardings{{
    {"none", Sharding::kReplicated},
    {"zero1", Sharding::kOptimizer},
    {"zero2", Sharding::kGradients},
    {"zero3", Sharding::kParameters},
    {"shard_grad_op", Sharding::kKeepGathered},
    {"fsdp", Sharding::kParameters},
    {"hsdp", Sharding::kParameters},
}};

constexpr std::array<Spelling<Recompute>, 3> kRecomputes{{
    {"none", Recompute::kNothing},
    {"selective", Recompute::kSelective},
    {"full", Recompute::kFull},
}};

constexpr std::array<Spelling<TokenDispatch>, 3> kDispatches{{
    {"all_to_all", TokenDispatch::kAllToAll},
    {"all_gather", TokenDispatch::kAllGather},
    {"flex", TokenDispatch::kFlex},
}};

constexpr std::array<Spelling<TableSharding>, 3> kTables{{
    {"table", TableSharding::kTable},
    {"row", TableSharding::kRow},
    {"column", TableSharding::kColumn},
}};

constexpr std::array<Spelling<OptimizerKind>, 2> kOptimizers{{
    {"adam", OptimizerKind::kAdam},
    {"sgd", OptimizerKind::kSgd},
}};

struct PrecisionTypes {
  DataType compute;
  DataType products;
};

constexpr std::array<Spelling<PrecisionTypes>, 6> kPrecisions{{
    {"bf16", {DataType::kBf16, DataType::kBf16}},
    {"fp16", {DataType::kFp16, DataType::kFp16}},
    {"fp8", {DataType::kBf16, DataType::kFp8}},
    {"nvfp4", {DataType::kBf16, DataType::kNvfp4}},
    {"fp32", {DataType::kFp32, DataType::kFp32}},
    {"tf32", {DataType::kFp32, DataType::kTf32}},
}};

template <typename Value, std::size_t kCount>
void ReadWord(YamlFields& fields, std::string_view key,
              const std::array<Spelling<Value>, kCount>& spellings, Value& value) {
  value = fields.Choice(key, std::span<const Spelling<Value>>(spellings), std::optional(value));
}

// What a precision means for states, where the job says nothing else.
Precision UsualPrecision(const PrecisionTypes& types) {
  const bool is_half = types.compute != DataType::kFp32;
  return {.compute = types.compute,
          .products = types.products,
          .gradient_bytes = 4,
          .gathered_bytes = is_half ? 2 : 4,
          .has_master = is_half};
}

void ReadPrecision(YamlFields& fields, Precision& precision) {
  if (fields.Has("precision")) {
    PrecisionTypes types = kPrecisions.front().second;
    ReadWord(fields, "precision", kPrecisions, types);
    precision = UsualPrecision(types);
  }
  fields.Expect({"precision"});
  precision.gradient_bytes = fields.Count("gradient_bytes", 1, precision.gradient_bytes);
  precision.gathered_bytes = fields.Count("gathered_bytes", 1, precision.gathered_bytes);
  precision.has_master = fields.Flag("has_master", precision.has_master);
  precision.moment_bytes = fields.Count("moment_bytes", 1, precision.moment_bytes);
  precision.activation_input_bytes =
      fields.Count("activation_input_bytes", 0, precision.activation_input_bytes);
}

int ReadDegree(YamlFields& fields, std::string_view key, int usual) {
  constexpr int kLargest = 1'000'000;
  const int degree = fields.Count(key, 1, usual);
  if (degree > kLargest) {
    fields.Wrong(key, fmt::format("must be at most {}", kLargest), std::to_string(degree));
    return 1;
  }
  return degree;
}

void ReadDegrees(YamlFields& fields, Plan& plan) {
  plan.tp = ReadDegree(fields, "tp", plan.tp);
  plan.pp = ReadDegree(fields, "pp", plan.pp);
  plan.cp = ReadDegree(fields, "cp", plan.cp);
  plan.dp = ReadDegree(fields, "dp", 0);
  plan.ep = ReadDegree(fields, "ep", plan.ep);
  plan.expert_tp = ReadDegree(fields, "expert_tp", plan.expert_tp);
}

void ReadPipeline(YamlFields& fields, Plan& plan) {
  plan.chunks = ReadDegree(fields, "chunks", plan.chunks);
  plan.schedule = plan.chunks > 1 && plan.schedule == PipelineSchedule::k1f1b
                      ? PipelineSchedule::kInterleaved
                      : plan.schedule;
  ReadWord(fields, "schedule", kSchedules, plan.schedule);
  if (fields.Has("layers_per_stage")) {
    plan.layers_per_stage.clear();
    for (const std::int64_t layers : fields.Sizes("layers_per_stage", 0)) {
      plan.layers_per_stage.push_back(static_cast<int>(layers));
    }
  }
  fields.Expect({"layers_per_stage"});
  plan.pipeline_is_innermost = fields.Flag("pipeline_is_innermost", plan.pipeline_is_innermost);
}

void ReadSharding(YamlFields& fields, Plan& plan) {
  const bool is_hybrid = fields.Has("sharding") && fields.Text("sharding") == "hsdp";
  ReadWord(fields, "sharding", kShardings, plan.sharding);
  plan.shard_ranks = fields.Count("shard_ranks", 0, is_hybrid ? -1 : plan.shard_ranks);
  plan.offload_optimizer = fields.Flag("offload_optimizer", plan.offload_optimizer);
}

void ReadRecomputedParts(YamlFields& fields, RecomputedParts& parts) {
  for (const std::string& word : fields.Texts("recompute_parts", std::vector<std::string>{})) {
    const auto* const known =
        std::ranges::find(kRecomputedPartNames, word, &RecomputedPartName::name);
    if (known == kRecomputedPartNames.end()) {
      fields.Wrong("recompute_parts", "must be some of norms, latent_up, activations, experts",
                   word);
      return;
    }
    parts.*known->member = true;
  }
}

void ReadRecompute(YamlFields& fields, Plan& plan) {
  ReadWord(fields, "recompute", kRecomputes, plan.recompute);
  plan.recompute_layers = fields.Count("recompute_layers", 0, plan.recompute_layers);
  plan.recompute_share = fields.Number("recompute_share", 0, plan.recompute_share);
  if (plan.recompute_share > 1) {
    fields.Wrong("recompute_share", "must be at most 1", fmt::format("{}", plan.recompute_share));
  }
  ReadRecomputedParts(fields, plan.recompute_parts);
}

}  // namespace

void ReadTraining(YamlFields& fields, Training& training) {
  training.sequence = fields.Size("sequence", 1, training.sequence);
  training.micro_batch = fields.Size("micro_batch", 1, training.micro_batch);
  training.global_batch = fields.Size("global_batch", 1);
  ReadPrecision(fields, training.precision);
  ReadWord(fields, "optimizer", kOptimizers, training.optimizer);
  training.adapter_rank = fields.Size("adapter_rank", 0, training.adapter_rank);
  fields.RefuseOthers();
}

void ReadPlan(YamlFields& fields, Plan& plan) {
  ReadDegrees(fields, plan);
  plan.sequence_parallel = fields.Flag("sequence_parallel", plan.sequence_parallel);
  ReadPipeline(fields, plan);
  ReadWord(fields, "context", kContexts, plan.context);
  plan.ulysses_ranks = ReadDegree(fields, "ulysses_ranks", plan.ulysses_ranks);
  plan.context_is_balanced = fields.Flag("context_is_balanced", plan.context_is_balanced);
  ReadSharding(fields, plan);
  ReadRecompute(fields, plan);
  ReadWord(fields, "dispatch", kDispatches, plan.dispatch);
  plan.capacity_factor = fields.Number("capacity_factor", 0, plan.capacity_factor);
  plan.expert_nodes = fields.Count("expert_nodes", 0, plan.expert_nodes);
  plan.token_imbalance = fields.Number("token_imbalance", 1, plan.token_imbalance);
  ReadWord(fields, "tables", kTables, plan.tables);
  fields.RefuseOthers();
}

}  // namespace orrery::workload
