#include "orrery/workload/emit/megatron_command.h"

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/emit/pipeline_split.h"
#include "orrery/workload/emit/setting_list.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/keys/words.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

// Frameworks of the catalogue that run Megatron-Core; their switches are its arguments.
bool IsMegatron(const Framework& framework) {
  return framework.name == "megatron-lm" || framework.name == "nemo";
}

// "Et*3|t*4|t*4|t*3L".
std::string LayoutText(const std::vector<int>& blocks, std::int64_t extra_predictions) {
  std::string text = "E";
  for (std::size_t part = 0; part < blocks.size(); ++part) {
    text += part > 0 ? "|" : "";
    text += blocks[part] > 1 ? fmt::format("t*{}", blocks[part]) : blocks[part] == 1 ? "t" : "";
  }
  return text + std::string(static_cast<std::size_t>(extra_predictions), 'm') + "L";
}

Status AddPipeline(const Job& job, const Transformer& model, SettingList& list) {
  const Plan& plan = job.plan;
  if (plan.schedule != PipelineSchedule::k1f1b && plan.schedule != PipelineSchedule::kInterleaved) {
    list.Miss("plan.schedule {}: Megatron-LM runs 1F1B, interleaved with virtual stages",
              ScheduleName(plan.schedule));
  }
  if (plan.chunks > 1 && plan.pp == 1) {
    list.Miss("plan.chunks {}: Megatron-LM has virtual stages with plan.pp only", plan.chunks);
  }
  list.Add("pipeline-model-parallel-size", plan.pp);
  ORRERY_TRY(const PipelineSplit split, SplitOf(job, model));
  if (split.ends == PipelineEnds::kNotEven) {
    list.Add("pipeline-model-parallel-layout", LayoutText(split.blocks, model.extra_predictions));
  } else if (plan.chunks > 1) {
    list.Add("num-virtual-stages-per-pipeline-rank", plan.chunks);
  }
  list.Switch("account-for-embedding-in-pipeline-split", CountsEmbedding(split.ends));
  list.Switch("account-for-loss-in-pipeline-split", CountsLoss(split.ends));
  list.Switch("use-tp-pp-dp-mapping", plan.pipeline_is_innermost);
  return {};
}

void AddContext(const Job& job, SettingList& list) {
  const Plan& plan = job.plan;
  if (plan.cp == 1) {
    return;
  }
  list.Add("context-parallel-size", plan.cp);
  list.Add("cp-comm-type", WordOf(kMegatronContextKindWords, plan.context));
  if (plan.context == ContextKind::kUlyssesRing) {
    list.Add("hierarchical-context-parallel-sizes",
             fmt::format("{} {}", plan.ulysses_ranks, plan.cp / plan.ulysses_ranks));
  }
  if (!plan.context_is_balanced) {
    list.Miss("plan.context_is_balanced false: Megatron-LM always deals causal work evenly");
  }
  if (job.training.sequence % (std::int64_t{2} * plan.cp) != 0) {
    list.Miss("training.sequence {}: Megatron-LM needs a multiple of 2 · plan.cp {}",
              job.training.sequence, plan.cp);
  }
}

void AddExpertPlan(const Job& job, SettingList& list) {
  if (!HasExperts(job.model)) {
    return;
  }
  const Plan& plan = job.plan;
  list.Add("expert-model-parallel-size", plan.ep);
  list.Add("expert-tensor-parallel-size", plan.expert_tp);
  list.Add("moe-token-dispatcher-type", WordOf(kMegatronTokenDispatchWords, plan.dispatch));
  if (plan.dispatch == TokenDispatch::kFlex) {
    list.Add("moe-flex-dispatcher-backend", "deepep");
  }
  list.Switch("moe-grouped-gemm", job.training.precision.compute == DataType::kBf16);
  if (plan.capacity_factor > 0) {
    list.Add("moe-expert-capacity-factor", plan.capacity_factor);
  }
  if (plan.expert_nodes > 0) {
    list.Miss(
        "plan.expert_nodes {}: give --moe-router-group-topk {} and --moe-router-num-groups, which "
        "depends on the nodes that experts are on",
        plan.expert_nodes, plan.expert_nodes);
  }
  if (plan.tp > 1 && !plan.sequence_parallel) {
    list.Miss("plan.sequence_parallel false: Megatron-LM trains experts with plan.tp only with it");
  }
  if (plan.ep > 1 && job.training.precision.compute == DataType::kFp16) {
    list.Miss("training.precision fp16: Megatron-LM refuses it with plan.ep");
  }
}

// PyTorch's FSDP2 inside Megatron-LM is the only one there that keeps gathered parameters.
void AddTorchFsdp(const Job& job, SettingList& list) {
  list.Switch("use-torch-fsdp2");
  list.Switch("torch-fsdp2-no-reshard-after-forward");
  const Transformer& model = *job.model.transformer();
  if (job.plan.pp > 1 || job.plan.ep > 1 || model.is_tied ||
      job.training.precision.compute == DataType::kFp16 || job.plan.shard_ranks > 0) {
    list.Miss(
        "plan.sharding shard_grad_op: --use-torch-fsdp2 refuses pipeline and expert parallelism, "
        "tied embeddings and fp16, and shards among all ranks");
  }
}

void AddSharding(const Job& job, SettingList& list) {
  const Plan& plan = job.plan;
  if (plan.sharding == Sharding::kReplicated) {
    return;
  }
  if (plan.sharding == Sharding::kKeepGathered) {
    AddTorchFsdp(job, list);
    return;
  }
  list.Switch("use-distributed-optimizer");
  if (plan.sharding != Sharding::kOptimizer) {
    list.Switch("use-megatron-fsdp");
    list.Add("data-parallel-sharding-strategy",
             plan.sharding == Sharding::kGradients ? "optim_grads" : "optim_grads_params");
    list.Add("ckpt-format", "fsdp_dtensor");
    list.Switch("init-model-with-meta-device");
  }
  if (plan.sharding == Sharding::kParameters && !ReshardsAfterForward(plan)) {
    list.Miss("plan.reshard {}: Megatron-FSDP releases parameters behind the forward pass",
              ReshardName(plan.reshard));
  }
  const int ranks = plan.dp * plan.cp;
  if (plan.shard_ranks > 0 && plan.shard_ranks < ranks) {
    list.Add("num-distributed-optimizer-instances", ranks / plan.shard_ranks);
  }
}

void AddRecompute(const Plan& plan, SettingList& list) {
  std::string modules = plan.recompute == Recompute::kSelective ? "core_attn" : "";
  bool has_parts = false;
  for (const RecomputedPartName& part : kRecomputedPartNames) {
    if (plan.recompute_parts.*part.member) {
      has_parts = true;
      modules += (modules.empty() ? "" : " ") + std::string(part.megatron);
    }
  }
  if (plan.recompute == Recompute::kFull) {
    const bool is_all = plan.recompute_layers == 0;
    list.Add("recompute-granularity", "full");
    list.Add("recompute-method", is_all ? "uniform" : "block");
    list.Add("recompute-num-layers", is_all ? 1 : plan.recompute_layers);
    if (plan.recompute_share < 1 || has_parts) {
      list.Miss(
          "plan.recompute full: Megatron-LM recomputes all layers or the first ones of a stage, "
          "with nothing more in the others");
    }
    return;
  }
  if (plan.recompute == Recompute::kOperators) {
    list.Miss("plan.recompute operators: Megatron-LM chooses modules, not operators");
  }
  if (!modules.empty()) {
    list.Add("recompute-granularity", "selective");
    list.Add("recompute-modules", modules);
  }
}

void AddGemmType(const Precision& precision, SettingList& list) {
  switch (precision.gemm_type) {
    case DataType::kFp8:
      list.Add("fp8-format", "hybrid");
      break;
    case DataType::kFp8Block:
      list.Add("fp8-format", "hybrid");
      list.Add("fp8-recipe", "blockwise");
      break;
    case DataType::kNvfp4:
      list.Add("fp4-format", "e2m1");
      break;
    default:
      if (precision.gemm_type != precision.compute) {
        list.Miss("training.precision {}: Megatron-LM has no argument for it",
                  DataTypeName(precision.gemm_type));
      }
  }
}

void AddGradientBytes(const Precision& precision, SettingList& list) {
  const bool is_bf16 = precision.compute == DataType::kBf16;
  const bool is_fp16 = precision.compute == DataType::kFp16;
  if (precision.gradient_bytes == 4) {
    list.Switch("accumulate-allreduce-grads-in-fp32", is_fp16);  // bf16 does so anyway
  } else if (precision.gradient_bytes == 2 && (is_bf16 || is_fp16)) {
    list.Switch("grad-reduce-in-bf16", is_bf16);
  } else {
    list.Miss("training.gradient_bytes {} is not a width that Megatron-LM reduces",
              precision.gradient_bytes);
  }
}

// Types of the optimizer's states and of gathered parameters; both belong to sharded ones.
void AddStateBytes(const Job& job, SettingList& list) {
  const Precision& precision = job.training.precision;
  const bool is_half = precision.compute != DataType::kFp32;
  const Sharding sharding = job.plan.sharding;
  const bool is_sharded = sharding != Sharding::kReplicated;
  const bool has_distributed_optimizer = is_sharded && sharding != Sharding::kKeepGathered;
  const bool is_fp8 =
      precision.gemm_type == DataType::kFp8 || precision.gemm_type == DataType::kFp8Block;
  if (precision.gathered_bytes == 1 && is_sharded && is_fp8) {
    list.Switch("fp8-param-gather");
  } else if (precision.gathered_bytes != (is_half ? 2 : 4) && is_sharded) {
    list.Miss("training.gathered_bytes {}: Megatron-LM gathers what it computes in, or fp8",
              precision.gathered_bytes);
  }
  if (precision.has_master != is_half) {
    list.Miss("training.has_master {}: Megatron-LM keeps fp32 copies of half-precision weights",
              precision.has_master);
  }
  const bool has_narrow_moments = precision.moment_bytes == 2 || precision.moment_bytes == 1;
  if (precision.moment_bytes != 4 && !(has_narrow_moments && has_distributed_optimizer)) {
    list.Miss(
        "training.moment_bytes {}: Megatron-LM has moments of 1, 2 and 4 bytes, narrow ones with "
        "the distributed optimizer only",
        precision.moment_bytes);
  }
  if (job.plan.offload_optimizer && !has_distributed_optimizer) {
    list.Miss("plan.offload_optimizer: Megatron-LM offloads the distributed optimizer only");
  }
  list.Switch("use-precision-aware-optimizer",
              job.plan.offload_optimizer || precision.moment_bytes != 4);
  list.Switch("optimizer-cpu-offload", job.plan.offload_optimizer);
  if (has_narrow_moments) {
    for (const std::string_view moment : {"exp-avg-dtype", "exp-avg-sq-dtype"}) {
      list.Add(moment, precision.moment_bytes == 2 ? "bf16" : "fp8");
    }
  }
}

void AddPrecision(const Job& job, const TransformerShape& shape, SettingList& list) {
  const Precision& precision = job.training.precision;
  list.Switch("bf16", precision.compute == DataType::kBf16);
  list.Switch("fp16", precision.compute == DataType::kFp16);
  AddGemmType(precision, list);
  AddGradientBytes(precision, list);
  if (precision.activation_input_bytes == 1 && shape.gated) {
    list.Switch("activation-func-fp8-input-store");
  } else if (precision.activation_input_bytes != 0) {
    list.Miss("training.activation_input_bytes {}: Megatron-LM stores inputs of SwiGLU in 1 byte",
              precision.activation_input_bytes);
  }
  AddStateBytes(job, list);
}

void AddTraining(const Job& job, const TransformerShape& shape, SettingList& list) {
  const Training& training = job.training;
  list.Add("seq-length", training.sequence);
  list.Add("max-position-embeddings", std::max(training.sequence, shape.positions));
  list.Add("micro-batch-size", training.micro_batch);
  list.Add("global-batch-size", training.global_batch);
  list.Add("optimizer", training.optimizer == OptimizerKind::kSgd ? "sgd" : "adam");
}

void AddOverlap(const Job& job, const Framework& framework, SettingList& list) {
  const Plan& plan = job.plan;
  const bool has_buckets = framework.data_overlap == DataOverlap::kBuckets;
  const bool gathers = plan.sharding != Sharding::kReplicated &&
                       plan.sharding != Sharding::kKeepGathered && framework.gathers_in_forward;
  list.Switch("overlap-grad-reduce", has_buckets);
  list.Switch("overlap-param-gather", has_buckets && gathers);
  if (plan.tp > 1 && framework.tensor_overlap == TensorOverlap::kPipelined) {
    list.Switch("tp-comm-overlap", plan.sequence_parallel);
    if (!plan.sequence_parallel) {
      list.Miss("framework.tensor_overlap pipelined: Megatron-LM needs plan.sequence_parallel");
    }
  }
  list.Switch("no-overlap-p2p-communication",
              plan.chunks > 1 && !framework.overlaps_pipeline_sends);
  list.Switch("overlap-moe-expert-parallel-comm", plan.ep > 1 && framework.overlaps_experts);
  if (!framework.scales_bucket_with_ranks && framework.least_bucket_elements > 0) {
    list.Add("ddp-bucket-size", framework.least_bucket_elements);
  }
}

void AddKernels(const Job& job, const Framework& framework, const TransformerShape& shape,
                SettingList& list) {
  if (framework.vocabulary_multiple != 128) {
    list.Add("make-vocab-size-divisible-by", framework.vocabulary_multiple);
  }
  if (framework.attention == AttentionKernel::kMaterialised) {
    list.Add("attention-backend", "unfused");
  }
  list.Switch("cross-entropy-loss-fusion", framework.fuses_cross_entropy);
  list.Switch("no-gradient-accumulation-fusion",
              !framework.fuses_gradient_accumulation || list.Find("use-torch-fsdp2") != nullptr);
  list.Switch(shape.gated ? "no-bias-swiglu-fusion" : "no-bias-gelu-fusion",
              !framework.fuses_bias_activation);
  list.Switch("no-bias-dropout-fusion", !framework.fuses_dropout_add);
  list.Switch("no-rope-fusion", !framework.fuses_rope && shape.rope);
  list.Switch("moe-permute-fusion", framework.fuses_permute && HasExperts(job.model));
  if (framework.graphs != CudaGraphs::kOff) {
    list.Add("cuda-graph-impl", "local");
  }
  if (framework.graphs == CudaGraphs::kStep) {
    list.Add("cuda-graph-scope", "full_iteration");
    list.Switch("no-check-for-nan-in-loss-and-grad");
  }
}

void AddFramework(const Job& job, const TransformerShape& shape, SettingList& list) {
  const bool is_megatron = IsMegatron(job.framework);
  if (!is_megatron) {
    MissFramework(job, "Megatron-LM", "megatron-lm", list);
  }
  const Framework& framework = is_megatron ? job.framework : *FindFramework("megatron-lm");
  AddOverlap(job, framework, list);
  AddKernels(job, framework, shape, list);
}

// Quotes a value that a shell would not take as it is.
std::string Quoted(const std::string& value) {
  return value.find_first_of("()[]*|") == std::string::npos ? value : "'" + value + "'";
}

}  // namespace

Result<SettingList> MegatronSettings(const Job& job) {
  const Transformer* const model = job.model.transformer();
  if (model == nullptr || !model->encoder.empty() || model->task != TransformerTask::kLanguage ||
      !model->blocks.front().block.self.is_causal) {
    return Unsupported("{} is no language model with a decoder alone, which is what can be started",
                       job.model.name);
  }
  ORRERY_TRY(const TransformerShape shape, ShapeOfTransformer(*model));
  SettingList list;
  const LaunchSize size = LaunchSizeOf(job, list);
  list.Add("nnodes", size.nodes);
  list.Add("nproc-per-node", size.gpus_of_node);
  AddMegatronModel(shape, list);
  AddTraining(job, shape, list);
  list.Add("tensor-model-parallel-size", job.plan.tp);
  list.Switch("sequence-parallel", job.plan.sequence_parallel);
  ORRERY_TRY_STATUS(AddPipeline(job, *model, list));
  AddContext(job, list);
  AddExpertPlan(job, list);
  AddSharding(job, list);
  AddRecompute(job.plan, list);
  AddPrecision(job, shape, list);
  AddFramework(job, shape, list);
  MissCommon(job, list);
  return list;
}

Result<EmittedJob> MegatronCommand(const Job& job) {
  ORRERY_TRY(SettingList list, MegatronSettings(job));
  std::string text = "torchrun";
  for (const Setting& setting : list.settings) {
    const bool is_launcher = setting.name == "nnodes" || setting.name == "nproc-per-node";
    text += fmt::format("{}--{}{}{}", is_launcher ? " " : " \\\n  ", setting.name,
                        setting.value.empty() ? "" : " ", Quoted(setting.value));
    text += setting.name == "nproc-per-node" ? " pretrain_gpt.py" : "";
  }
  return EmittedJob{.text = text + "\n", .not_expressed = std::move(list.not_expressed)};
}

}  // namespace orrery::workload
