#include "orrery/workload/emit/deepspeed_file.h"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/emit/setting_list.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"
#include "orrery/workload/plan/plan.h"
#include "orrery/workload/plan/sharding.h"

namespace orrery::workload {
namespace {

// 0 none, 1 the optimizer, 2 gradients, 3 parameters.
int StageOf(const Job& job, SettingList& list) {
  constexpr std::array<int, 5> kStages{0, 1, 2, 3, 2};
  const Plan& plan = job.plan;
  if (plan.sharding == Sharding::kKeepGathered) {
    list.Miss(
        "plan.sharding shard_grad_op: DeepSpeed releases parameters behind the forward pass "
        "or does not shard them; stage 2 is written");
  }
  if (plan.sharding == Sharding::kParameters && !ReshardsAfterForward(plan)) {
    list.Miss("plan.reshard {}: DeepSpeed releases parameters behind the forward pass",
              ReshardName(plan.reshard));
  }
  if (plan.sharding != Sharding::kReplicated && plan.shard_ranks > 0 &&
      plan.shard_ranks < plan.dp * plan.cp) {
    list.Miss("plan.shard_ranks {}: DeepSpeed shards among all data-parallel ranks",
              plan.shard_ranks);
  }
  return kStages.at(static_cast<std::size_t>(plan.sharding));
}

std::string ZeroText(const Job& job, SettingList& list) {
  const int stage = StageOf(job, list);
  if (stage > 1 && job.plan.pp > 1) {
    list.Miss("plan.sharding: DeepSpeed refuses ZeRO stage {} with a pipeline", stage);
  }
  std::string text =
      fmt::format("  \"zero_optimization\": {{\n    \"stage\": {},\n    \"overlap_comm\": {}",
                  stage, job.framework.data_overlap == DataOverlap::kBuckets);
  if (job.plan.offload_optimizer) {
    text += ",\n    \"offload_optimizer\": {\n      \"device\": \"cpu\"\n    }";
    if (stage == 0) {
      list.Miss("plan.offload_optimizer: DeepSpeed offloads with ZeRO stages 1 to 3");
    }
  }
  return text + "\n  }";
}

// States in bf16 are a mode of their own, with stages of ZeRO.
std::string HalfText(const Precision& precision, SettingList& list) {
  if (precision.compute == DataType::kFp16) {
    return "  \"fp16\": {\n    \"enabled\": true\n  }";
  }
  const bool has_narrow_states = !precision.has_master && precision.moment_bytes == 2;
  if (precision.moment_bytes != 4 && !has_narrow_states) {
    list.Miss(
        "training.moment_bytes {}: DeepSpeed has moments of 4 bytes, and of 2 without fp32 "
        "master weights",
        precision.moment_bytes);
  }
  return fmt::format("  \"bf16\": {{\n    \"enabled\": {}{}\n  }}",
                     precision.compute == DataType::kBf16,
                     has_narrow_states ? ",\n    \"bf16_master_weights_and_grads\": true,\n"
                                         "    \"bf16_optimizer_states\": true"
                                       : "");
}

std::string PrecisionText(const Job& job, SettingList& list) {
  const Precision& precision = job.training.precision;
  if (precision.gemm_type != precision.compute) {
    list.Miss("training.precision {}: the layers of the model choose it, not DeepSpeed",
              DataTypeName(precision.gemm_type));
  }
  if (precision.activation_input_bytes != 0) {
    list.Miss("training.activation_input_bytes has no key in DeepSpeed");
  }
  std::string text = HalfText(precision, list);
  if (precision.compute != DataType::kFp32) {
    const std::string_view half = precision.compute == DataType::kFp16 ? "fp16" : "bf16";
    text += fmt::format(",\n  \"communication_data_type\": \"{}\"",
                        precision.gradient_bytes == 4 ? "fp32" : half);
  }
  return text;
}

struct ProgramSetting {
  std::string_view key;
  int degree;
  std::string_view argument;  // of Megatron-DeepSpeed
};

// Lists the settings that belong into the program that calls DeepSpeed.
void MissProgram(const Job& job, SettingList& list) {
  const Plan& plan = job.plan;
  for (const auto& [key, degree, argument] : {
           ProgramSetting{"tp", plan.tp, "--tensor-model-parallel-size"},
           {"pp", plan.pp, "--pipeline-model-parallel-size"},
           {"cp", plan.cp, "--ds-sequence-parallel-size"},
           {"ep", plan.ep, "--moe-expert-parallel-size"},
       }) {
    if (degree > 1) {
      list.Miss("plan.{} {} belongs to the program: {} {} of Megatron-DeepSpeed", key, degree,
                argument, degree);
    }
  }
  if (plan.recompute != Recompute::kNothing || plan.recompute_parts != RecomputedParts{}) {
    list.Miss(
        "plan.recompute: the program chooses what DeepSpeed checkpoints, "
        "--checkpoint-activations of Megatron-DeepSpeed");
  }
  if (plan.pp > 1 && plan.schedule != PipelineSchedule::k1f1b) {
    list.Miss("plan.schedule {}: pipelines of DeepSpeed run 1F1B", ScheduleName(plan.schedule));
  }
  MissFramework(job, "DeepSpeed", "megatron-deepspeed", list);
  list.Miss("model {} and training.sequence {} belong to the program that calls DeepSpeed",
            job.model.name, job.training.sequence);
}

}  // namespace

Result<EmittedJob> DeepSpeedFile(const Job& job) {
  SettingList list;
  const Training& training = job.training;
  const std::string zero = ZeroText(job, list);
  const std::string precision = PrecisionText(job, list);
  MissProgram(job, list);
  MissCommon(job, list);
  return EmittedJob{
      .text = fmt::format("{{\n  \"train_batch_size\": {},\n  \"train_micro_batch_size_per_gpu\": "
                          "{},\n  \"gradient_accumulation_steps\": {},\n{},\n{}\n}}\n",
                          training.global_batch, training.micro_batch, job.microbatches(), zero,
                          precision),
      .not_expressed = std::move(list.not_expressed)};
}

}  // namespace orrery::workload
