#include "orrery/workload/job/published_model.h"

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "orrery/workload/model/flops.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kUsualVocabulary = 51'200;
constexpr std::int64_t kUsualExpertsPerToken = 2;
constexpr double kMegatronDropout = 0.1;

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

bool IsGpt(const TransformerShape& shape) {
  return !shape.rope;
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

void TakeFromPreset(const TransformerShape& preset, TransformerShape& shape) {
  shape.head_size = preset.head_size;
  shape.value_head_size = preset.value_head_size;
  shape.query_rank = preset.query_rank;
  shape.key_value_rank = preset.key_value_rank;
  shape.rope_size = preset.rope_size;
  shape.qkv_bias = preset.qkv_bias;
  shape.qk_norm = preset.qk_norm;
  shape.shared_ffn = preset.shared_ffn;
  shape.shared_gate = preset.shared_gate;
  shape.dense_layers = preset.dense_layers;
  shape.moe_every = preset.moe_every;
  shape.moe_offset = preset.moe_offset;
  shape.extra_predictions = preset.extra_predictions;
}

void ReadExperts(const RunRow& row, TransformerShape& shape) {
  const auto experts = row.Integer("moe_experts");
  if (!experts || *experts <= 1) {
    return;
  }
  shape.experts = *experts;
  shape.experts_per_token = row.Integer("moe_topk").value_or(kUsualExpertsPerToken);
  shape.expert_ffn = row.Integer("moe_ffn").value_or(shape.ffn);
}

// Columns with the sizes of the model.
void ReadSizes(RunRow& row, TransformerShape& shape) {
  shape.layers = row.Integer("layers").value_or(0);
  shape.hidden = row.Integer("hidden").value_or(0);
  shape.heads = row.Integer("heads").value_or(0);
  shape.kv_heads = row.Integer("kv_heads").value_or(0);
  shape.ffn = row.Integer("ffn").value_or(0);
  const auto vocabulary = row.Integer("vocab");
  if (!vocabulary) {
    row.Assume(fmt::format("vocabulary of {}", kUsualVocabulary));
  }
  shape.vocabulary = vocabulary.value_or(kUsualVocabulary);
  ReadExperts(row, shape);
}

bool HasSizes(const RunRow& row) {
  return row.Integer("layers") && row.Integer("hidden") && row.Integer("heads");
}

bool HasStateSpaceLayers(const std::string& model) {
  return Mentions(model, "Nemotron-H") || Mentions(model, "Nemotron_H") ||
         Mentions(model, "Nemotron_3") || Mentions(model, "Mamba") || Mentions(model, "Jamba");
}

Result<TransformerShape> ReadShape(RunRow& row) {
  const TransformerShape* const preset = PresetShape(row);
  if (HasSizes(row)) {
    TransformerShape shape = FamilyShape(row.Text("ffn_act"));
    ReadSizes(row, shape);
    if (preset != nullptr) {
      TakeFromPreset(*preset, shape);
    }
    return shape;
  }
  if (preset == nullptr || !HasParametersOf(row, *preset)) {
    return Fail(Error::Kind::kUnsupported,
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
    return {SixNFlops(model, batch) * 4 / 3, "8 N a token"};
  }
  switch (job.plan.recompute) {
    case Recompute::kFull:
      return {RecomputedFlops(model, batch), "hardware FLOPs with full recomputation"};
    case Recompute::kSelective:
      return {SelectiveFlops(model, batch), "hardware FLOPs with selective recomputation"};
    case Recompute::kNothing:
      break;
  }
  return {ModelFlops(model, batch), "hardware FLOPs, not causal"};
}

// Whether the first mention of causality is not a denial: "model, causal (432 non-causal)".
bool SaysCausal(std::string_view kind) {
  const std::size_t at = kind.find("causal");
  return at != std::string_view::npos && !kind.substr(0, at).ends_with("non-") &&
         !kind.substr(0, at).ends_with("no ") && !kind.substr(0, at).ends_with("not ");
}

// What section 3 of the conventions says of a kind; a kind that says nothing of causality is
// NVIDIA's in NVIDIA's tables of recipes, and equation 7 of Korthikanti et al. elsewhere.
CountedFlops FlopsOf(std::string_view kind, const Transformer& model, const Job& job) {
  const TokenBatch batch = {job.training.sequence, job.training.global_batch};
  if (Mentions(kind, "hardware")) {
    return HardwareFlops(kind, model, job, batch);
  }
  if (Mentions(kind, "6*N*s")) {
    return {LlmFoundryFlops(model, batch), "6 N a token and scores, not causal"};
  }
  if (SaysCausal(kind) || (kind == "model" && job.framework.name == "nemo")) {
    return {MegatronFlops(model, batch), "model FLOPs, causal"};
  }
  return {ModelFlops(model, batch), "model FLOPs, not causal"};
}

std::optional<MeasuredStep> FromThroughput(const RunRow& row, const Job& job) {
  const auto samples = static_cast<double>(job.training.global_batch);
  const double tokens = samples * static_cast<double>(job.training.sequence);
  if (const auto rate = PositiveNumber(row, "tokens_per_s")) {
    return MeasuredStep{tokens / *rate, "tokens a second"};
  }
  if (const auto rate = PositiveNumber(row, "tokens_per_s_per_gpu")) {
    return MeasuredStep{tokens / (*rate * job.gpus), "tokens a second of a GPU"};
  }
  if (const auto rate = PositiveNumber(row, "samples_per_s")) {
    return MeasuredStep{samples / *rate, "samples a second"};
  }
  return std::nullopt;
}

// TFLOP/s of a GPU as published, or the published share of its peak.
std::optional<double> FlopRateOf(const RunRow& row, const Job& job) {
  if (const auto rate = PositiveNumber(row, "tflops_per_gpu")) {
    return *rate * kTera;
  }
  const auto share = PositiveNumber(row, "mfu_pct");
  const auto peak = job.gpu.PeakFlops(job.gpu.PeakFlops("bf16") ? "bf16" : "fp16");
  return share && peak ? std::optional(*share / kPercent * *peak) : std::nullopt;
}

}  // namespace

Result<Model> PublishedModel(RunRow& row, const Job& job) {
  const std::string name = row.Text("model");
  if (HasStateSpaceLayers(name)) {
    return Fail(Error::Kind::kUnsupported,
                fmt::format("'{}' has state-space layers, which are not modelled", name));
  }
  ORRERY_TRY(TransformerShape shape, ReadShape(row));
  if (const std::string tied = row.Text("tied_embed"); !tied.empty()) {
    shape.tied = tied.starts_with("yes");
  }
  if (Mentions(name, "w/o MTP")) {
    shape.extra_predictions = 0;
  }
  if (IsGpt(shape)) {
    shape.positions = job.training.sequence;
    // GPT as Megatron trains it drops; MPT and everything after it does not.
    const double dropout = Mentions(job.framework.name, "megatron") ? kMegatronDropout : 0.0;
    shape.dropout = dropout;
    shape.attention_dropout = dropout;
  }
  ORRERY_TRY(Transformer transformer, MakeTransformer(shape));
  return Model{name, std::move(transformer)};
}

bool HasMeasurement(const RunRow& row) {
  for (const std::string_view column : {"step_time_s", "tokens_per_s", "tokens_per_s_per_gpu",
                                        "samples_per_s", "tflops_per_gpu", "mfu_pct"}) {
    if (PositiveNumber(row, column)) {
      return true;
    }
  }
  return false;
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
    return Fail(Error::Kind::kUnsupported,
                "the row has no step time and no throughput to derive one from");
  }
  const CountedFlops counted = FlopsOf(row.Text("tflops_kind"), *model, job);
  return MeasuredStep{
      counted.flops / (*rate * job.gpus),
      fmt::format("{} over {}", counted.convention,
                  PositiveNumber(row, "tflops_per_gpu") ? "TFLOP/s of a GPU" : "utilisation")};
}

}  // namespace orrery::workload
