#include "orrery/workload/job/published_model.h"

#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

#include <fmt/core.h>

#include "orrery/workload/model/parameters.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kUsualVocabulary = 51'200;
constexpr std::int64_t kUsualExpertsPerToken = 2;
constexpr double kMegatronDropout = 0.1;

// What the activation tells of the family.
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

// Columns that say how large the model is.
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
                "the row does not say layers, hidden size and heads, and its model is not known");
  }
  row.Assume("sizes of the model as published elsewhere");
  return *preset;
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

}  // namespace orrery::workload
