#include "orrery/workload/emit/nemo_overrides.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/emit/megatron_command.h"
#include "orrery/workload/emit/setting_list.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {
namespace {

/// What an argument of Megatron-LM is in a recipe, whose model, strategy and optimizer are those of
/// Megatron-Core.
struct Override {
  std::string_view argument;
  std::string_view key;
  std::string_view present = {};  // its value; empty: that of the argument
  std::string_view absent = {};   // the value without the argument; empty: the recipe's
};

constexpr std::string_view kYes = "True";
constexpr std::string_view kNo = "False";
constexpr std::string_view kNone = "None";

constexpr auto kOverrides = std::to_array<Override>({
    {"nnodes", "trainer.num_nodes"},
    {"nproc-per-node", "trainer.devices"},
    {"tensor-model-parallel-size", "trainer.strategy.tensor_model_parallel_size"},
    {"pipeline-model-parallel-size", "trainer.strategy.pipeline_model_parallel_size"},
    {"num-virtual-stages-per-pipeline-rank",
     "trainer.strategy.virtual_pipeline_model_parallel_size",
     {},
     kNone},
    {"account-for-embedding-in-pipeline-split",
     "trainer.strategy.account_for_embedding_in_pipeline_split", kYes, kNo},
    {"account-for-loss-in-pipeline-split", "trainer.strategy.account_for_loss_in_pipeline_split",
     kYes, kNo},
    {"pipeline-model-parallel-layout",
     "trainer.strategy.pipeline_model_parallel_layout",
     {},
     kNone},
    {"decoder-first-pipeline-num-layers",
     "trainer.strategy.num_layers_in_first_pipeline_stage",
     {},
     kNone},
    {"decoder-last-pipeline-num-layers",
     "trainer.strategy.num_layers_in_last_pipeline_stage",
     {},
     kNone},
    {"use-tp-pp-dp-mapping", "trainer.strategy.use_tp_pp_dp_mapping", kYes, kNo},
    {"context-parallel-size", "trainer.strategy.context_parallel_size", {}, "1"},
    {"expert-model-parallel-size", "trainer.strategy.expert_model_parallel_size", {}, "1"},
    {"expert-tensor-parallel-size", "trainer.strategy.expert_tensor_parallel_size", {}, "1"},
    {"sequence-parallel", "trainer.strategy.sequence_parallel", kYes, kNo},
    {"use-megatron-fsdp", "trainer.strategy.fsdp", "megatron", kNone},
    {"data-parallel-sharding-strategy",
     "trainer.strategy.ddp.data_parallel_sharding_strategy",
     {},
     "no_shard"},
    {"num-distributed-optimizer-instances",
     "trainer.strategy.num_distributed_optimizer_instances",
     {},
     "1"},
    {"overlap-grad-reduce", "trainer.strategy.ddp.overlap_grad_reduce", kYes, kNo},
    {"overlap-param-gather", "trainer.strategy.ddp.overlap_param_gather", kYes, kNo},
    {"bf16", "trainer.plugins.precision", "bf16-mixed"},
    {"fp16", "trainer.plugins.precision", "16-mixed"},
    {"fp8-format", "trainer.plugins.fp8", {}, kNone},
    {"fp8-recipe", "trainer.plugins.fp8_recipe"},
    {"use-distributed-optimizer", "optim.config.use_distributed_optimizer", kYes, kNo},
    {"use-precision-aware-optimizer", "optim.config.use_precision_aware_optimizer", kYes, kNo},
    {"optimizer-cpu-offload", "optim.config.optimizer_cpu_offload", kYes, kNo},
    {"optimizer", "optim.config.optimizer"},
    {"seq-length", "data.seq_length"},
    {"micro-batch-size", "data.micro_batch_size"},
    {"global-batch-size", "data.global_batch_size"},
    {"seq-length", "model.config.seq_length"},
    {"num-layers", "model.config.num_layers"},
    {"hidden-size", "model.config.hidden_size"},
    {"ffn-hidden-size", "model.config.ffn_hidden_size"},
    {"num-attention-heads", "model.config.num_attention_heads"},
    {"num-query-groups", "model.config.num_query_groups", {}, kNone},
    {"kv-channels", "model.config.kv_channels", {}, kNone},
    {"q-lora-rank", "model.config.q_lora_rank"},
    {"kv-lora-rank", "model.config.kv_lora_rank"},
    {"qk-head-dim", "model.config.qk_head_dim"},
    {"qk-pos-emb-head-dim", "model.config.qk_pos_emb_head_dim"},
    {"v-head-dim", "model.config.v_head_dim"},
    {"swiglu", "model.config.gated_linear_unit", kYes, kNo},
    {"normalization", "model.config.normalization"},
    {"qk-layernorm", "model.config.qk_layernorm", kYes, kNo},
    {"disable-bias-linear", "model.config.add_bias_linear", kNo, kYes},
    {"add-qkv-bias", "model.config.add_qkv_bias", kYes, kNo},
    {"position-embedding-type", "model.config.position_embedding_type"},
    {"untie-embeddings-and-output-weights", "model.config.share_embeddings_and_output_weights", kNo,
     kYes},
    {"hidden-dropout", "model.config.hidden_dropout"},
    {"attention-dropout", "model.config.attention_dropout"},
    {"mtp-num-layers", "model.config.mtp_num_layers", {}, kNone},
    {"num-experts", "model.config.num_moe_experts", {}, kNone},
    {"moe-router-topk", "model.config.moe_router_topk"},
    {"moe-ffn-hidden-size", "model.config.moe_ffn_hidden_size"},
    {"moe-layer-freq", "model.config.moe_layer_freq", {}, "1"},
    {"moe-shared-expert-intermediate-size",
     "model.config.moe_shared_expert_intermediate_size",
     {},
     kNone},
    {"moe-shared-expert-gate", "model.config.moe_shared_expert_gate", kYes},
    {"moe-token-dispatcher-type", "model.config.moe_token_dispatcher_type"},
    {"moe-flex-dispatcher-backend", "model.config.moe_enable_deepep", kYes},
    {"moe-grouped-gemm", "model.config.moe_grouped_gemm", kYes},
    {"moe-expert-capacity-factor", "model.config.moe_expert_capacity_factor", {}, kNone},
    {"moe-permute-fusion", "model.config.moe_permute_fusion", kYes},
    {"cp-comm-type", "model.config.cp_comm_type"},
    {"recompute-granularity", "model.config.recompute_granularity", {}, kNone},
    {"recompute-method", "model.config.recompute_method", {}, kNone},
    {"recompute-num-layers", "model.config.recompute_num_layers", {}, kNone},
    {"recompute-modules", "model.config.recompute_modules"},
    {"init-model-with-meta-device", "model.config.init_model_with_meta_device", kYes},
    {"cross-entropy-loss-fusion", "model.config.cross_entropy_loss_fusion", kYes},
    {"no-gradient-accumulation-fusion", "model.config.gradient_accumulation_fusion", kNo},
    {"make-vocab-size-divisible-by", "model.config.make_vocab_size_divisible_by"},
});

// Arguments that need no key: others say the same, or they have no effect on a step.
constexpr std::array<std::string_view, 8> kImplied{"group-query-attention",
                                                   "multi-latent-attention",
                                                   "max-position-embeddings",
                                                   "vocab-size",
                                                   "ckpt-format",
                                                   "accumulate-allreduce-grads-in-fp32",
                                                   "grad-reduce-in-bf16",
                                                   "no-check-for-nan-in-loss-and-grad"};

bool IsKnown(std::string_view argument) {
  return std::ranges::find(kOverrides, argument, &Override::argument) != kOverrides.end() ||
         std::ranges::find(kImplied, argument) != kImplied.end();
}

// "core_attn mlp" as Python writes a list.
std::string WordsText(std::string_view words) {
  std::string text = "['";
  for (const char c : words) {
    text += c == ' ' ? std::string("', '") : std::string(1, c);
  }
  return text + "']";
}

// Which layers have experts, one by one: overrides are not calculated.
std::string LayersText(std::string_view pattern, std::int64_t layers) {
  std::string text;
  for (const bool has_experts : ExpertPattern(pattern, layers).value_or(std::vector<bool>())) {
    text += fmt::format("{}{}", text.empty() ? "" : ",", has_experts ? 1 : 0);
  }
  return "[" + text + "]";
}

std::string ValueOf(const Override& entry, const Setting* setting, std::int64_t layers) {
  if (setting == nullptr) {
    return std::string(entry.absent);
  }
  if (!entry.present.empty()) {
    return std::string(entry.present);
  }
  if (setting->name == "moe-layer-freq") {
    return LayersText(setting->value, layers);
  }
  return setting->name == "recompute-modules" ? WordsText(setting->value) : setting->value;
}

std::string LineOf(std::string_view key, std::string_view value) {
  const bool is_plain = value.find_first_of("()[]*| ") == std::string_view::npos;
  return is_plain ? fmt::format(" \\\n  {}={}", key, value)
                  : fmt::format(" \\\n  \"{}={}\"", key, value);
}

}  // namespace

Result<EmittedJob> NemoOverrides(const Job& job) {
  ORRERY_TRY(SettingList list, MegatronSettings(job));
  if (list.Find("pipeline-model-parallel-layout") != nullptr && job.plan.chunks > 1) {
    list.Add("num-virtual-stages-per-pipeline-rank", job.plan.chunks);
  }
  const Transformer& model = *job.model.transformer();
  std::string text = fmt::format(
      "# RECIPE is one whose model has the same activation function and a vocabulary of {}.\n"
      "nemo llm pretrain --factory RECIPE",
      model.vocabulary);
  for (const Override& entry : kOverrides) {
    const Setting* const setting = list.Find(entry.argument);
    const bool is_needless =
        setting == nullptr && entry.key.starts_with("model.config.moe_") && !HasExperts(job.model);
    const std::string value =
        is_needless ? std::string() : ValueOf(entry, setting, model.num_blocks());
    text += value.empty() ? "" : LineOf(entry.key, value);
  }
  const Precision& precision = job.training.precision;
  text += LineOf("trainer.plugins.grad_reduce_in_fp32", precision.gradient_bytes == 4 ? kYes : kNo);
  for (const Setting& setting : list.settings) {
    if (!IsKnown(setting.name)) {
      list.Miss("--{}{}{} of Megatron-LM has no key that a recipe overrides", setting.name,
                setting.value.empty() ? "" : " ", setting.value);
    }
  }
  if (precision.compute != DataType::kBf16) {
    list.Miss("training.precision {}: types of the recipe's precision plugin are not overridden",
              DataTypeName(precision.compute));
  }
  return EmittedJob{.text = text + "\n", .not_expressed = std::move(list.not_expressed)};
}

}  // namespace orrery::workload
