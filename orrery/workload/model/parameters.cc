#include "orrery/workload/model/parameters.h"

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/workload/model/model.h"

namespace orrery::workload {

namespace {

using Tensors = std::vector<ParameterTensor>;

void AddNorm(Tensors& tensors, const std::string& name, NormKind kind, std::int64_t size) {
  tensors.push_back({name + ".weight", size, TensorSpread::kWhole});
  if (kind == NormKind::kLayer) {
    tensors.push_back({name + ".bias", size, TensorSpread::kWhole});
  }
}

/// The cut of a matrix by tensor parallelism and its effect on the bias.
enum class Cut : std::uint8_t {
  kOutputs,  // the bias is cut too
  kInputs,   // outputs are summed, the bias comes after the sum
  kNever,
};

struct Linear {
  std::string name;
  std::int64_t inputs = 0;
  std::int64_t outputs = 0;
  bool has_bias = false;
  Cut cut = Cut::kOutputs;
};

void AddLinear(Tensors& tensors, const Linear& linear) {
  const auto weight = linear.cut == Cut::kNever ? TensorSpread::kWhole : TensorSpread::kSplit;
  tensors.push_back({linear.name + ".weight", linear.inputs * linear.outputs, weight});
  if (linear.has_bias) {
    const auto bias = linear.cut == Cut::kOutputs ? TensorSpread::kSplit : TensorSpread::kWhole;
    tensors.push_back({linear.name + ".bias", linear.outputs, bias});
  }
}

void AddLatentProjections(Tensors& tensors, const Attention& attention, std::int64_t hidden) {
  const LatentAttention& latent = *attention.latent;
  const std::int64_t query = attention.heads * (attention.head_size + latent.rope_size);
  if (latent.query_rank > 0) {
    AddLinear(tensors, {"q_down", hidden, latent.query_rank, false, Cut::kNever});
    AddNorm(tensors, "q_norm", NormKind::kRms, latent.query_rank);
    AddLinear(tensors, {"q_up", latent.query_rank, query});
  } else {
    AddLinear(tensors, {"q", hidden, query});
  }
  AddLinear(tensors,
            {"kv_down", hidden, latent.key_value_rank + latent.rope_size, false, Cut::kNever});
  AddNorm(tensors, "kv_norm", NormKind::kRms, latent.key_value_rank);
  AddLinear(tensors, {"kv_up", latent.key_value_rank,
                      attention.heads * (attention.head_size + attention.value_head_size)});
}

void AddPlainProjections(Tensors& tensors, const Attention& attention, std::int64_t hidden,
                         bool is_fused) {
  const bool has_bias = attention.has_bias || attention.has_qkv_bias;
  const std::int64_t query = attention.heads * attention.head_size;
  const std::int64_t key = attention.kv_heads * attention.head_size;
  const std::int64_t value = attention.kv_heads * attention.value_head_size;
  if (is_fused) {
    AddLinear(tensors, {"qkv", hidden, query + key + value, has_bias});
    return;
  }
  AddLinear(tensors, {"q", hidden, query, has_bias});
  AddLinear(tensors, {"k", hidden, key, has_bias});
  AddLinear(tensors, {"v", hidden, value, has_bias});
}

Tensors TensorsOf(const Attention& attention, std::int64_t hidden, bool is_fused) {
  Tensors tensors;
  if (attention.latent) {
    AddLatentProjections(tensors, attention, hidden);
  } else {
    AddPlainProjections(tensors, attention, hidden, is_fused);
  }
  AddLinear(tensors, {"projection", attention.heads * attention.value_head_size, hidden,
                      attention.has_bias, Cut::kInputs});
  if (attention.has_qk_norm) {
    AddNorm(tensors, "query_norm", NormKind::kRms, attention.head_size);
    AddNorm(tensors, "key_norm", NormKind::kRms, attention.head_size);
  }
  return tensors;
}

Tensors TensorsOf(const FeedForward& mlp, std::int64_t hidden) {
  Tensors tensors;
  if (mlp.is_gated) {
    AddLinear(tensors, {"gate", hidden, mlp.width, mlp.has_bias});
  }
  AddLinear(tensors, {"up", hidden, mlp.width, mlp.has_bias});
  AddLinear(tensors, {"down", mlp.width, hidden, mlp.has_bias, Cut::kInputs});
  return tensors;
}

Tensors TensorsOf(const Experts& experts, std::int64_t hidden) {
  Tensors tensors;
  AddLinear(tensors, {"router", hidden, experts.count, false, Cut::kNever});
  Tensors expert = TensorsOf(experts.expert, hidden);
  for (ParameterTensor& tensor : expert) {
    tensor.spread = TensorSpread::kExpert;
  }
  for (std::int64_t i = 0; i < experts.count; ++i) {
    Append(tensors, fmt::format("experts.{}.", i), expert);
  }
  if (experts.shared) {
    Append(tensors, "shared.", TensorsOf(*experts.shared, hidden));
    if (experts.has_shared_gate) {
      tensors.push_back({"shared_gate.weight", hidden, TensorSpread::kWhole});
    }
  }
  return tensors;
}

Tensors MlpTensors(const Block& block, std::int64_t hidden) {
  return std::visit([hidden](const auto& mlp) { return TensorsOf(mlp, hidden); }, block.mlp);
}

Tensors NormsFirst(const Block& block, std::int64_t hidden) {
  Tensors tensors;
  AddNorm(tensors, "norm_1", block.norm, hidden);
  Append(tensors, "attention.", TensorsOf(block.self, hidden, true));
  if (block.cross) {
    AddNorm(tensors, "cross_norm", block.norm, hidden);
    Append(tensors, "cross.", TensorsOf(*block.cross, hidden, true));
  }
  AddNorm(tensors, "norm_2", block.norm, hidden);
  Append(tensors, "mlp.", MlpTensors(block, hidden));
  return tensors;
}

Tensors NormsLast(const Block& block, std::int64_t hidden) {
  Tensors tensors;
  Append(tensors, "attention.", TensorsOf(block.self, hidden, false));
  if (block.cross) {
    Append(tensors, "cross.", TensorsOf(*block.cross, hidden, false));
  }
  Append(tensors, "mlp.", MlpTensors(block, hidden));
  AddNorm(tensors, "norm_1", block.norm, hidden);
  AddNorm(tensors, "norm_2", block.norm, hidden);
  if (block.cross) {
    AddNorm(tensors, "cross_norm", block.norm, hidden);
  }
  return tensors;
}

/// Biases of relative positions: one set for each stack, shared by its blocks.
void AddRelativePositions(Tensors& tensors, const Transformer& model) {
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    if (model.relative_positions > 0 && !stack->empty()) {
      tensors.push_back({"relative_positions.weight",
                         model.relative_positions * stack->front().block.self.heads,
                         TensorSpread::kWhole});
    }
  }
}

// Of routed experts those that one token meets, if `active_only`.
std::int64_t CountOf(const Tensors& tensors, const Block& block, bool active_only) {
  const PartParameters sum = Sum(tensors);
  const Experts* const experts = active_only ? block.experts() : nullptr;
  return sum.split + sum.whole +
         (experts == nullptr ? sum.experts : sum.experts / experts->count * experts->per_token);
}

std::int64_t CountOf(const Transformer& model, bool active_only) {
  std::int64_t sum = Sum(EmbeddingTensors(model, model.vocabulary)).total() +
                     Sum(HeadTensors(model, model.vocabulary, false)).total();
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    for (const BlockRun& run : *stack) {
      sum += run.count * CountOf(TensorsOf(run.block, model.hidden), run.block, active_only);
    }
  }
  if (model.extra_predictions > 0 && !model.blocks.empty()) {
    sum += model.extra_predictions *
           CountOf(ExtraPredictionTensors(model), model.blocks.back().block, active_only);
  }
  return sum;
}

std::int64_t CountOf(const LayerList& list, bool /*active_only*/) {
  std::int64_t sum = 0;
  for (const ListedLayer& layer : list.layers) {
    for (const std::int64_t elements : layer.parameters) {
      sum += elements;
    }
  }
  return sum;
}

std::int64_t LinearChain(std::int64_t width, const std::vector<std::int64_t>& widths) {
  std::int64_t sum = 0;
  for (const std::int64_t next : widths) {
    sum += width * next + next;
    width = next;
  }
  return sum;
}

std::int64_t CountOf(const Dlrm& model, bool active_only) {
  std::int64_t sum = LinearChain(model.dense_features, model.bottom) +
                     LinearChain(InteractionWidth(model), model.top);
  for (const EmbeddingTable& table : model.tables) {
    sum += (active_only ? table.pool : table.rows) * table.dim;
  }
  return sum;
}

}  // namespace

void Append(std::vector<ParameterTensor>& tensors, std::string_view prefix,
            const std::vector<ParameterTensor>& more) {
  for (const ParameterTensor& tensor : more) {
    tensors.push_back({fmt::format("{}{}", prefix, tensor.name), tensor.elements, tensor.spread});
  }
}

std::vector<ParameterTensor> TensorsOf(const Block& block, std::int64_t hidden) {
  return block.norm == NormKind::kLayer ? NormsFirst(block, hidden) : NormsLast(block, hidden);
}

std::vector<ParameterTensor> AdapterTensors(const Block& block, std::int64_t hidden,
                                            const TrainedPart& trained) {
  const std::int64_t rank = trained.adapter_rank;
  const Attention& attention = block.self;
  std::vector<ParameterTensor> tensors;
  if (!attention.latent) {
    const std::int64_t width = (attention.heads + 2 * attention.kv_heads) * attention.head_size;
    tensors.push_back({"qkv.adapter_down", hidden * rank, TensorSpread::kWhole});
    tensors.push_back({"qkv.adapter_up", rank * width, TensorSpread::kSplit});
  }
  const std::int64_t width = attention.heads * attention.value_head_size;
  tensors.push_back({"projection.adapter_down", width * rank, TensorSpread::kSplit});
  tensors.push_back({"projection.adapter_up", rank * hidden, TensorSpread::kWhole});
  const FeedForward* const mlp = block.feed_forward();
  if (mlp != nullptr && trained.targets == AdapterTargets::kLinear) {
    const std::int64_t up = mlp->width * (mlp->is_gated ? 2 : 1);
    tensors.push_back({"up.adapter_down", hidden * rank, TensorSpread::kWhole});
    tensors.push_back({"up.adapter_up", rank * up, TensorSpread::kSplit});
    tensors.push_back({"down.adapter_down", mlp->width * rank, TensorSpread::kSplit});
    tensors.push_back({"down.adapter_up", rank * hidden, TensorSpread::kWhole});
  }
  return tensors;
}

BaseMatrices BaseMatricesOf(const Block& block, std::int64_t hidden) {
  BaseMatrices base;
  const auto add = [&](std::int64_t in, std::int64_t out) {
    base.elements += in * out;
    base.largest = std::max(base.largest, in * out);
  };
  const Attention& attention = block.self;
  if (!attention.latent) {
    add(hidden, (attention.heads + 2 * attention.kv_heads) * attention.head_size);
  }
  add(attention.heads * attention.value_head_size, hidden);
  if (const FeedForward* const mlp = block.feed_forward()) {
    add(hidden, mlp->width * (mlp->is_gated ? 2 : 1));
    add(mlp->width, hidden);
  }
  return base;
}

std::vector<ParameterTensor> EmbeddingTensors(const Transformer& model, std::int64_t vocabulary) {
  Tensors tensors;
  if (model.task == TransformerTask::kClassification) {
    tensors.push_back({"class_token", model.hidden, TensorSpread::kWhole});
    AddLinear(tensors, {"patches", 3 * model.patch * model.patch, model.hidden, true, Cut::kNever});
  } else {
    tensors.push_back({"words.weight", vocabulary * model.hidden, TensorSpread::kSplit});
  }
  if (model.positions > 0) {
    tensors.push_back({"positions.weight", model.positions * model.hidden, TensorSpread::kWhole});
  }
  if (model.token_types > 0) {
    tensors.push_back({"types.weight", model.token_types * model.hidden, TensorSpread::kWhole});
  }
  if (model.has_embedding_norm) {
    AddNorm(tensors, "embedding_norm", model.norm, model.hidden);
  }
  AddRelativePositions(tensors, model);
  return tensors;
}

std::vector<ParameterTensor> HeadTensors(const Transformer& model, std::int64_t vocabulary,
                                         bool with_tied) {
  Tensors tensors;
  if (!model.encoder.empty()) {
    AddNorm(tensors, "encoder_norm", model.norm, model.hidden);
  }
  AddNorm(tensors, "norm", model.norm, model.hidden);
  if (model.task == TransformerTask::kClassification) {
    AddLinear(tensors, {"head", model.hidden, vocabulary, true, Cut::kNever});
    return tensors;
  }
  if (model.has_head_transform) {
    AddLinear(tensors, {"head_transform", model.hidden, model.hidden, true, Cut::kNever});
    tensors.push_back({"head.bias", vocabulary, TensorSpread::kSplit});
  }
  if (!model.is_tied || with_tied) {
    tensors.push_back({"head.weight", vocabulary * model.hidden, TensorSpread::kSplit});
  }
  return tensors;
}

std::vector<ParameterTensor> ExtraPredictionTensors(const Transformer& model) {
  Tensors extra;
  AddNorm(extra, "norm_embedding", model.norm, model.hidden);
  AddNorm(extra, "norm_hidden", model.norm, model.hidden);
  AddLinear(extra, {"join", 2 * model.hidden, model.hidden, false, Cut::kNever});
  Append(extra, "block.", TensorsOf(model.blocks.back().block, model.hidden));
  AddNorm(extra, "norm", model.norm, model.hidden);
  return extra;
}

PartParameters Sum(const std::vector<ParameterTensor>& tensors) {
  PartParameters sum;
  for (const ParameterTensor& tensor : tensors) {
    std::int64_t& part = tensor.spread == TensorSpread::kSplit   ? sum.split
                         : tensor.spread == TensorSpread::kWhole ? sum.whole
                                                                 : sum.experts;
    part += tensor.elements;
  }
  return sum;
}

std::int64_t InteractionWidth(const Dlrm& model) {
  const auto vectors = static_cast<std::int64_t>(model.tables.size()) + 1;
  const std::int64_t dense = model.bottom.empty() ? model.dense_features : model.bottom.back();
  return dense + vectors * (vectors - 1) / 2;
}

std::int64_t TotalParameters(const Model& model) {
  return std::visit([](const auto& body) { return CountOf(body, false); }, model.body);
}

std::int64_t ActiveParameters(const Model& model) {
  return std::visit([](const auto& body) { return CountOf(body, true); }, model.body);
}

}  // namespace orrery::workload
