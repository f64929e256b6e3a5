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

/// The key of an argument of Megatron-LM in a recipe, whose model, strategy and optimizer are those
/// of Megatron-Core.
struct Override {
  std::string_view argument;
  std::string_view key;
  std::string_view present;  // its value; empty: that of the argument
  std::string_view absent;   // the value without the argument; empty: the recipe's
};

constexpr std::string_view kYes = "True";
constexpr std::string_view kNo = "False";

#include "orrery/workload/nemo_overrides.inc"

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

// Lists for each layer if it has experts: overrides are not calculated.
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
