#include "orrery/workload/emit/torchtitan_file.h"

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/document/json_text.h"
#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/emit/pipeline_split.h"
#include "orrery/workload/emit/setting_list.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/keys/words.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::string_view kFramework = "torch-fsdp";

// The name of a job's key in TorchTitan: "tensor_parallel_degree".
std::string_view NameOf(std::string_view path) {
  const std::string_view name = FindJobKey(path)->torchtitan;
  return name.substr(name.find('.') + 1);
}

/// Lines of TOML, and what they do not say.
struct TomlText {
  std::string text = {};
  SettingList list = {};  // its sentences

  void Section(std::string_view name) {
    text += fmt::format("{}[{}]\n", text.empty() ? "" : "\n", name);
  }

  void Line(std::string_view key, std::int64_t value) {
    text += fmt::format("{} = {}\n", key, value);
  }

  void Words(std::string_view key, std::string_view value) {
    text += fmt::format("{} = {}\n", key, QuoteJson(value));
  }

  void Flag(std::string_view key, bool value) { text += fmt::format("{} = {}\n", key, value); }
};

void AddPrecision(const Job& job, TomlText& toml) {
  const Precision& precision = job.training.precision;
  toml.Words(NameOf("training.precision"),
             precision.compute == DataType::kFp32 ? "float32" : "bfloat16");
  toml.Words(NameOf("training.gradient_bytes"), "float32");
  if (precision.compute == DataType::kFp16) {
    toml.list.Miss("training.precision fp16: torchtitan has bfloat16 and float32");
  }
  const bool is_fp8 = precision.gemm_type == DataType::kFp8;
  if (precision.gemm_type != precision.compute && !is_fp8) {
    toml.list.Miss("training.precision {}: torchtitan has fp8 with one scale of a tensor or row",
                   DataTypeName(precision.gemm_type));
  }
  if (precision.gradient_bytes != 4) {
    toml.list.Miss("training.gradient_bytes {}: torchtitan reduces in float32",
                   precision.gradient_bytes);
  }
  if (precision.moment_bytes != 4 || precision.activation_input_bytes != 0) {
    toml.list.Miss("training.moment_bytes and activation_input_bytes have no key in torchtitan");
  }
}

// Micro-batches of a pipeline are cut from the local batch; without one they are accumulated.
void AddTraining(const Job& job, TomlText& toml) {
  const Training& training = job.training;
  const bool has_pipeline = job.plan.pp > 1;
  toml.Section("training");
  toml.Line("local_batch_size", training.micro_batch * (has_pipeline ? job.microbatches() : 1));
  toml.Line(NameOf("training.global_batch"), training.global_batch);
  toml.Line(NameOf("training.sequence"), training.sequence);
  AddPrecision(job, toml);
  toml.Flag(NameOf("plan.offload_optimizer"), job.plan.offload_optimizer);
  if (job.plan.offload_optimizer) {
    toml.list.Miss(
        "plan.offload_optimizer: torchtitan moves parameters and gradients to the host, too");
  }
  if (training.optimizer == OptimizerKind::kSgd) {
    toml.list.Miss("training.optimizer sgd: torchtitan has Adam and AdamW");
  }
}

// FSDP of torchtitan shards over data_parallel_shard_degree · context_parallel_degree.
void AddDataParallelism(const Plan& plan, TomlText& toml) {
  const bool is_replicated = plan.sharding == Sharding::kReplicated;
  const int shards = plan.shard_ranks == 0 ? plan.dp * plan.cp : plan.shard_ranks;
  const bool is_hybrid = !is_replicated && shards % plan.cp == 0;
  const int shard_degree = is_replicated ? 1 : is_hybrid ? shards / plan.cp : plan.dp;
  toml.Line("data_parallel_replicate_degree", plan.dp / shard_degree);
  toml.Line("data_parallel_shard_degree", shard_degree);
  toml.Words(NameOf("plan.reshard"),
             plan.sharding == Sharding::kParameters ? ReshardName(plan.reshard) : "never");
  if (plan.sharding == Sharding::kOptimizer || plan.sharding == Sharding::kGradients) {
    toml.list.Miss(
        "plan.sharding {}: torchtitan has DDP and FSDP; FSDP that keeps parameters "
        "gathered behind the forward pass is written",
        plan.sharding == Sharding::kOptimizer ? "zero1" : "zero2");
  }
  if (!is_replicated && !is_hybrid) {
    toml.list.Miss(
        "plan.shard_ranks {} does not divide by plan.cp {}, as torchtitan needs: all "
        "ranks shard",
        plan.shard_ranks, plan.cp);
  }
  if (is_replicated && plan.cp > 1) {
    toml.list.Miss("plan.sharding none: torchtitan shards parameters over the ranks of plan.cp");
  }
}

// [["tok_embeddings", "layers.0"], ["layers.1", "norm", "output"]]
std::string ModulesText(const std::vector<int>& blocks) {
  std::string text = "[\n";
  int layer = 0;
  for (std::size_t part = 0; part < blocks.size(); ++part) {
    std::string names = part == 0 ? ", \"tok_embeddings\"" : "";
    for (int i = 0; i < blocks[part]; ++i) {
      names += fmt::format(", \"layers.{}\"", layer++);
    }
    names += part + 1 == blocks.size() ? ", \"norm\", \"output\"" : "";
    text += fmt::format("  [{}],\n", std::string_view(names).substr(names.empty() ? 0 : 2));
  }
  return text + "]";
}

Status AddPipeline(const Job& job, const Transformer& model, TomlText& toml) {
  const Plan& plan = job.plan;
  toml.Line(NameOf("plan.pp"), plan.pp);
  if (plan.pp == 1) {
    return {};
  }
  const std::string_view word = WordOf(kTorchtitanPipelineScheduleWords, plan.schedule);
  toml.Words(NameOf("plan.schedule"), word.empty() ? "1F1B" : word);
  if (word.empty()) {
    toml.list.Miss("plan.schedule {}: torchtitan has none like it, 1F1B is written",
                   ScheduleName(plan.schedule));
  }
  toml.Line("pipeline_parallel_microbatch_size", job.training.micro_batch);
  ORRERY_TRY(const PipelineSplit split, SplitOf(job, model));
  if (split.ends == PipelineEnds::kNotEven) {
    toml.text += fmt::format("module_fqns_per_model_part = {}\n", ModulesText(split.blocks));
    return {};
  }
  const int first = CountsEmbedding(split.ends) ? 1 : 0;
  toml.Line("pipeline_parallel_layers_per_stage", split.blocks.front() + first);
  toml.Line("pipeline_parallel_first_stage_less_layers", first);
  toml.Line("pipeline_parallel_last_stage_less_layers", CountsLoss(split.ends) ? 1 : 0);
  return {};
}

void AddContext(const Plan& plan, TomlText& toml) {
  toml.Line(NameOf("plan.cp"), plan.cp);
  if (plan.cp == 1) {
    return;
  }
  const std::string_view word = WordOf(kTorchtitanContextKindWords, plan.context);
  toml.Words(NameOf("plan.context"), word.empty() ? "alltoall" : word);
  if (word.empty()) {
    toml.list.Miss(
        "plan.context: torchtitan passes keys and values on or gathers them, and does "
        "not deal heads");
  }
  if (!plan.context_is_balanced) {
    toml.list.Miss("plan.context_is_balanced false: torchtitan deals causal work evenly");
  }
}

void AddExperts(const Job& job, TomlText& toml) {
  const Plan& plan = job.plan;
  if (!HasExperts(job.model)) {
    return;
  }
  toml.Line(NameOf("plan.ep"), plan.ep);
  toml.Line(NameOf("plan.expert_tp"), plan.expert_tp);
  toml.Words(NameOf("plan.dispatch"), WordOf(kTorchtitanTokenDispatchWords, plan.dispatch));
  const bool is_cut_as_told =
      plan.ep == 1 ? plan.expert_tp == plan.tp : plan.expert_tp == 1 || plan.expert_tp == plan.tp;
  if (!is_cut_as_told) {
    toml.list.Miss("plan.expert_tp {}: torchtitan cuts experts over plan.tp {}{}", plan.expert_tp,
                   plan.tp, plan.ep == 1 ? " without plan.ep" : " or not at all");
  }
  if (plan.dispatch == TokenDispatch::kAllGather) {
    toml.list.Miss("plan.dispatch all_gather: torchtitan sends tokens by all-to-all or DeepEP");
  }
  if (plan.capacity_factor > 0 || plan.expert_nodes > 0) {
    toml.list.Miss("plan.capacity_factor and expert_nodes have no key in torchtitan");
  }
}

void AddTensorParallelism(const Job& job, TomlText& toml) {
  const Plan& plan = job.plan;
  toml.Line(NameOf("plan.tp"), plan.tp);
  if (plan.tp == 1) {
    return;
  }
  toml.Flag(NameOf("framework.tensor_overlap"),
            job.framework.tensor_overlap == TensorOverlap::kPipelined);
  if (!plan.sequence_parallel) {
    toml.list.Miss("plan.sequence_parallel false: torchtitan has tensor parallelism with it only");
  }
}

// A share of 1 / n of the layers is each n-th one.
void AddShareOfLayers(const Plan& plan, TomlText& toml) {
  const double every = 1 / plan.recompute_share;
  const std::int64_t whole = std::llround(every);
  const bool is_whole =
      plan.recompute_layers == 0 && std::abs(every - static_cast<double>(whole)) < 1e-9 * every;
  if (!is_whole) {
    toml.list.Miss(
        "plan.recompute_layers and recompute_share: torchtitan recomputes all layers "
        "or each n-th; all is written");
  }
  const bool is_all = !is_whole || whole == 1;
  toml.Words("mode", is_all ? "full" : "selective");
  if (!is_all) {
    toml.Words("selective_ac_option", std::to_string(whole));
  }
}

void AddRecompute(const Plan& plan, TomlText& toml) {
  toml.Section("activation_checkpoint");
  if (plan.recompute == Recompute::kFull && plan.recompute_share > 0) {
    AddShareOfLayers(plan, toml);
  } else if (plan.recompute == Recompute::kOperators) {
    toml.Words("mode", "selective");
    toml.Words("selective_ac_option", "op");
  } else {
    toml.Words("mode", "none");
  }
  if (plan.recompute == Recompute::kSelective) {
    toml.list.Miss(
        "plan.recompute selective: torchtitan does not recompute the core of attention "
        "alone; none is written");
  }
  if (plan.recompute_parts != RecomputedParts{}) {
    toml.list.Miss("plan.recompute_parts has no key in torchtitan");
  }
}

void AddRest(const Job& job, TomlText& toml) {
  const bool is_fp8 = job.training.precision.gemm_type == DataType::kFp8;
  if (is_fp8) {
    toml.Section("quantize.linear.float8");
    toml.Words("recipe_name", "tensorwise");
    toml.Flag("enable_fsdp_float8_all_gather", job.training.precision.gathered_bytes == 1);
  }
  const bool is_own = job.framework.name == kFramework;
  toml.Section("compile");
  toml.Flag("enable", is_own ? job.framework.is_compiled : FindFramework(kFramework)->is_compiled);
  MissFramework(job, "torchtitan", kFramework, toml.list);
  if (job.plan.pipeline_is_innermost) {
    toml.list.Miss("plan.pipeline_is_innermost: ranks of torchtitan count pipelines outermost");
  }
}

void AddModel(const Job& job, const Transformer& model, TomlText& toml) {
  toml.Section("model");
  toml.text += "# name and flavor are those of a model in torchtitan.\n";
  if (job.training.precision.gemm_type == DataType::kFp8) {
    toml.text += "converters = [\"quantize.linear.float8\"]\n";
  }
  toml.list.Miss(
      "model {}: torchtitan takes [model] name and flavor; choose one with {} layers and hidden "
      "size {}",
      job.model.name, model.num_blocks(), model.hidden);
}

}  // namespace

Result<EmittedJob> TorchtitanFile(const Job& job) {
  const Transformer* const model = job.model.transformer();
  if (model == nullptr) {
    return Unsupported("{} is no transformer, which is what torchtitan trains", job.model.name);
  }
  TomlText toml;
  AddModel(job, *model, toml);
  AddTraining(job, toml);
  toml.Section("parallelism");
  AddDataParallelism(job.plan, toml);
  AddTensorParallelism(job, toml);
  ORRERY_TRY_STATUS(AddPipeline(job, *model, toml));
  AddContext(job.plan, toml);
  AddExperts(job, toml);
  AddRecompute(job.plan, toml);
  AddRest(job, toml);
  MissCommon(job, toml.list);
  return EmittedJob{.text = std::move(toml.text),
                    .not_expressed = std::move(toml.list.not_expressed)};
}

}  // namespace orrery::workload
