#include "orrery/workload/job/published/published_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/hardware/gpu.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/megatron_arguments.h"
#include "orrery/workload/job/published/run_row.h"
#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kUsualVocabulary = 51'200;
constexpr std::int64_t kUsualExpertsPerToken = 2;
constexpr std::int64_t kBertVocabulary = 30'522;  // uncased, Devlin et al., arXiv 1810.04805
constexpr double kMegatronDropout = 0.1;

// Sizes that no column of a row has.
constexpr std::array kSizesOfPreset{
    &TransformerShape::head_size,    &TransformerShape::value_head_size,
    &TransformerShape::query_rank,   &TransformerShape::key_value_rank,
    &TransformerShape::rope_size,    &TransformerShape::shared_ffn,
    &TransformerShape::dense_layers, &TransformerShape::moe_every,
    &TransformerShape::moe_offset,   &TransformerShape::extra_predictions};
constexpr std::array kFlagsOfPreset{&TransformerShape::qkv_bias, &TransformerShape::qk_norm,
                                    &TransformerShape::shared_gate};
// Beside those of the family: the fitted scalars hold those of families whose preset has none.
constexpr std::array kBiasesOfPreset{&TransformerShape::attention_bias,
                                     &TransformerShape::ffn_bias};

// The family according to the activation.
TransformerShape FamilyShape(std::string_view activation) {
  TransformerShape shape;
  if (activation == "swiglu" || activation == "geglu") {
    shape.activation = activation == "swiglu" ? Activation::kSilu : Activation::kGelu;
    shape.gated = true;
    shape.norm = NormKind::kRms;
    shape.rope = true;
  } else if (activation == "sqrelu") {
    shape.activation = Activation::kSquaredRelu;
    shape.rope = true;
  } else {
    shape.attention_bias = true;
    shape.ffn_bias = true;
    shape.tied = true;
  }
  return shape;
}

// The shape of the preset that the row's model is called after, unless its columns contradict it.
const TransformerShape* PresetShape(const RunRow& row) {
  const Preset* preset = FindPresetWithin(row.Text("model"));
  const auto* shape = preset != nullptr ? std::get_if<TransformerShape>(&preset->facts) : nullptr;
  const bool fits = shape != nullptr &&
                    row.Integer("hidden").value_or(shape->hidden) == shape->hidden &&
                    row.Integer("heads").value_or(shape->heads) == shape->heads;
  return fits ? shape : nullptr;
}

// A preset that a name only resembles ("GPT 22B" has "GPT 2" in it) has another number of
// parameters.
bool HasParametersOf(const RunRow& row, const TransformerShape& shape) {
  constexpr double kTolerance = 0.2;
  const auto stated = row.Number("params_b");
  Result<Transformer> model = MakeTransformer(shape);
  if (!stated || !model) {
    return true;
  }
  const double counted = static_cast<double>(TotalParameters(Model{"", std::move(*model)})) / 1e9;
  return std::abs(counted - *stated) <= kTolerance * *stated;
}

// Columns with the sizes of the model.
void ReadSizes(RunRow& row, TransformerShape& shape) {
  shape.layers = row.Integer("layers").value_or(0);
  shape.hidden = row.Integer("hidden").value_or(0);
  shape.heads = row.Integer("heads").value_or(0);
  shape.kv_heads = row.Integer("kv_heads").value_or(0);
  shape.ffn = row.Integer("ffn").value_or(0);
  const auto vocabulary = row.Integer("vocab");
  const std::int64_t usual = shape.causal ? kUsualVocabulary : kBertVocabulary;
  if (!vocabulary) {
    row.Assume(fmt::format("vocabulary of {}", usual));
  }
  shape.vocabulary = vocabulary.value_or(usual);
  if (const auto experts = row.Integer("moe_experts"); experts && *experts > 1) {
    shape.experts = *experts;
    shape.experts_per_token = row.Integer("moe_topk").value_or(kUsualExpertsPerToken);
    shape.expert_ffn = row.Integer("moe_ffn").value_or(shape.ffn);
  }
}

// Of a row that lists Megatron's options. Its BERT (pretrain_bert.py) sees both directions and
// predicts words through one more layer; a second head of two classes is left out.
TransformerShape StatedShape(const RunRow& row, const MegatronJob& stated) {
  TransformerShape shape = stated.shape;
  if (row.Text("model").starts_with("BERT")) {
    shape.causal = false;
    shape.head_transform = true;
    shape.token_types = 2;
  }
  return shape;
}

Result<TransformerShape> ReadShape(RunRow& row, const MegatronJob* stated) {
  const TransformerShape* const preset = stated != nullptr ? nullptr : PresetShape(row);
  if (row.Integer("layers") && row.Integer("hidden") && row.Integer("heads")) {
    TransformerShape shape =
        stated != nullptr ? StatedShape(row, *stated) : FamilyShape(row.Text("ffn_act"));
    ReadSizes(row, shape);
    if (stated != nullptr) {
      return shape;
    }
    for (const auto member : kSizesOfPreset) {
      shape.*member = preset != nullptr ? preset->*member : shape.*member;
    }
    for (const auto member : kFlagsOfPreset) {
      shape.*member = preset != nullptr ? preset->*member : shape.*member;
    }
    for (const auto member : kBiasesOfPreset) {
      shape.*member = shape.*member || (preset != nullptr && preset->*member);
    }
    if (preset != nullptr && (preset->key_value_rank > 0 || preset->shared_ffn > 0)) {
      row.Assume("kinds of layers that no column tells, as those of the model of that name");
    }
    return shape;
  }
  if (preset == nullptr || !HasParametersOf(row, *preset)) {
    return Unsupported(
        "the row does not state layers, hidden size and heads, and its model is unknown");
  }
  row.Assume("sizes of the model as published elsewhere");
  return *preset;
}

constexpr double kTera = 1e12;
constexpr double kPercent = 100;

std::optional<double> PositiveNumber(const RunRow& row, std::string_view column) {
  const auto number = row.Number(column);
  return number && *number > 0 ? number : std::nullopt;
}

/// Operations of a step by a convention, and its name.
struct CountedFlops {
  double flops = 0;
  std::string_view convention;
};

CountedFlops HardwareFlops(std::string_view kind, const Transformer& model, const Job& job,
                           const TokenBatch& batch) {
  if (Mentions(kind, "2*N")) {
    return {SixNFlops(model, batch) * 4 / 3, "8 N per token"};
  }
  switch (job.plan.recompute) {
    case Recompute::kFull:
      return {RecomputedFlops(model, batch), "hardware FLOPs with full recomputation"};
    case Recompute::kSelective:
      return {SelectiveFlops(model, batch), "hardware FLOPs with selective recomputation"};
    case Recompute::kOperators:
    case Recompute::kNothing:
      break;
  }
  return {ModelFlops(model, batch), "hardware FLOPs, not causal"};
}

// Counts FLOPs as section 3 of the conventions says for a kind; a kind that does not state
// causality has that of its framework: Megatron's count in NVIDIA's tables of recipes, equation 7
// of Korthikanti et al. elsewhere.
CountedFlops FlopsOf(std::string_view kind, const Transformer& model, const Job& job) {
  const TokenBatch batch = {job.training.sequence, job.training.global_batch};
  if (Mentions(kind, "hardware")) {
    return HardwareFlops(kind, model, job, batch);
  }
  if (Mentions(kind, "6*N*s")) {
    return {LlmFoundryFlops(model, batch), "6 N per token and scores, not causal"};
  }
  // True if the first mention of causality is not a denial: "model, causal (432 non-causal)".
  const std::string_view before = kind.substr(0, kind.find("causal"));
  const bool is_causal = before != kind && !before.ends_with("non-") && !before.ends_with("no ") &&
                         !before.ends_with("not ");
  if (is_causal || (kind == "model" && job.framework.counts_causal_flops)) {
    return {MegatronFlops(model, batch), "model FLOPs, causal"};
  }
  return {ModelFlops(model, batch), "model FLOPs, not causal"};
}

std::optional<MeasuredStep> FromThroughput(const RunRow& row, const Job& job) {
  struct Rate {
    std::string_view column;
    std::string_view name;
    double amount;
    int gpus;
  };

  const auto samples = static_cast<double>(job.training.global_batch);
  const double tokens = samples * static_cast<double>(job.training.sequence);
  for (const Rate& rate :
       {Rate{"tokens_per_s", "tokens per second", tokens, 1},
        Rate{"tokens_per_s_per_gpu", "tokens per second and GPU", tokens, job.gpus},
        Rate{"samples_per_s", "samples per second", samples, 1}}) {
    if (const auto number = PositiveNumber(row, rate.column)) {
      return MeasuredStep{rate.amount / (*number * rate.gpus), std::string(rate.name)};
    }
  }
  return std::nullopt;
}

// TFLOP/s per GPU as published, or the published share of its peak.
std::optional<double> FlopRateOf(const RunRow& row, const Job& job) {
  if (const auto rate = PositiveNumber(row, "tflops_per_gpu")) {
    return *rate * kTera;
  }
  const auto share = PositiveNumber(row, "mfu_pct");
  const auto peak = job.gpu.PeakFlops(job.gpu.PeakFlops("bf16") ? "bf16" : "fp16");
  return share && peak ? std::optional(*share / kPercent * *peak) : std::nullopt;
}

Status CheckFamily(const std::string& name) {
  for (const std::string_view family :
       {"Nemotron-H", "Nemotron_H", "Nemotron_3", "Mamba", "Jamba", "Hybrid"}) {
    if (Mentions(name, family)) {
      return Unsupported("'{}' has state-space layers, which are not modelled", name);
    }
  }
  for (const std::string_view family :
       {"T5 ", "Retro", "Multimodal", "MIMO", "LLaVA", "ViT ", "RADIO"}) {
    if (LowerCase(name).starts_with(LowerCase(family))) {
      return Unsupported("'{}' is more than the stack of layers that its columns describe", name);
    }
  }
  return {};
}

}  // namespace

Result<Model> PublishedModel(RunRow& row, const Job& job, const MegatronJob* stated) {
  const std::string name = row.Text("model");
  ORRERY_TRY_STATUS(CheckFamily(name));
  ORRERY_TRY(TransformerShape shape, ReadShape(row, stated));
  if (const std::string tied = row.Text("tied_embed"); !tied.empty()) {
    shape.tied = tied.starts_with("yes");
  }
  // A layout of the pipeline has a letter for each block that predicts further tokens.
  if (const std::string layout = row.Text("stage_layers");
      layout.starts_with("layout ") && !Contains(layout, "m")) {
    shape.extra_predictions = 0;
  }
  if (!shape.rope) {  // GPT
    shape.positions = job.training.sequence;
  }
  if (!shape.rope && stated == nullptr) {
    // GPT as Megatron trains it drops; MPT and everything after it does not.
    const double dropout = job.framework.uses_dropout ? kMegatronDropout : 0.0;
    shape.dropout = dropout;
    shape.attention_dropout = dropout;
  }
  ORRERY_TRY(Transformer transformer, MakeTransformer(shape));
  return Model{name, std::move(transformer)};
}

bool HasMeasurement(const RunRow& row) {
  const auto columns = {"step_time_s",   "tokens_per_s",   "tokens_per_s_per_gpu",
                        "samples_per_s", "tflops_per_gpu", "mfu_pct"};
  return std::ranges::any_of(
      columns, [&](std::string_view column) { return PositiveNumber(row, column).has_value(); });
}

Result<MeasuredStep> MeasuredStepOf(const RunRow& row, const Job& job) {
  if (const auto seconds = PositiveNumber(row, "step_time_s")) {
    return MeasuredStep{*seconds};
  }
  if (const auto step = FromThroughput(row, job)) {
    return *step;
  }
  const auto rate = FlopRateOf(row, job);
  const Transformer* const model = job.model.transformer();
  if (!rate || model == nullptr || job.training.adapter_rank > 0) {
    return Unsupported("the row has no step time and no throughput to derive one from");
  }
  const CountedFlops counted = FlopsOf(row.Text("tflops_kind"), *model, job);
  return MeasuredStep{
      counted.flops / (*rate * job.gpus),
      fmt::format("{} over {}", counted.convention,
                  PositiveNumber(row, "tflops_per_gpu") ? "TFLOP/s per GPU" : "utilisation")};
}

}  // namespace orrery::workload
