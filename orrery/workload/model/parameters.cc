#include "orrery/workload/model/parameters.h"

#include <variant>
#include <vector>

namespace orrery::workload {
namespace {

PartParameters& operator+=(PartParameters& sum, const PartParameters& part) {
  sum.split += part.split;
  sum.whole += part.whole;
  sum.experts += part.experts;
  return sum;
}

PartParameters Times(std::int64_t count, const PartParameters& part) {
  return {
      .split = count * part.split, .whole = count * part.whole, .experts = count * part.experts};
}

std::int64_t NormParameters(NormKind kind, std::int64_t size) {
  return kind == NormKind::kLayer ? 2 * size : size;
}

// Down-projections and their norms are on every rank; what makes heads of them is cut.
PartParameters LatentProjections(const Attention& attention, std::int64_t hidden) {
  const LatentAttention& latent = *attention.latent;
  const std::int64_t query = attention.heads * (attention.head_size + latent.rope_size);
  const std::int64_t key_value =
      attention.heads * (attention.head_size + attention.value_head_size);
  PartParameters count;
  if (latent.query_rank > 0) {
    count.whole += latent.query_rank * (hidden + 1);
    count.split += latent.query_rank * query;
  } else {
    count.split += hidden * query;
  }
  count.whole += hidden * (latent.key_value_rank + latent.rope_size) + latent.key_value_rank;
  count.split += latent.key_value_rank * key_value;
  return count;
}

PartParameters PlainProjections(const Attention& attention, std::int64_t hidden) {
  const std::int64_t width = (attention.heads + attention.kv_heads) * attention.head_size +
                             attention.kv_heads * attention.value_head_size;
  const bool has_bias = attention.has_bias || attention.has_qkv_bias;
  return {.split = hidden * width + (has_bias ? width : 0)};
}

PartParameters ParametersOf(const Attention& attention, std::int64_t hidden) {
  PartParameters count =
      attention.latent ? LatentProjections(attention, hidden) : PlainProjections(attention, hidden);
  count.split += attention.heads * attention.value_head_size * hidden;
  count.whole += attention.has_bias ? hidden : 0;
  count.whole += attention.has_qk_norm ? 2 * attention.head_size : 0;
  return count;
}

PartParameters ParametersOf(const FeedForward& mlp, std::int64_t hidden) {
  const std::int64_t up = mlp.is_gated ? 2 * mlp.width : mlp.width;
  PartParameters count = {.split = hidden * (up + mlp.width)};
  if (mlp.has_bias) {
    count.split += up;
    count.whole += hidden;
  }
  return count;
}

PartParameters ParametersOf(const Experts& experts, std::int64_t hidden) {
  PartParameters count = {.whole = hidden * experts.count,
                          .experts = experts.count * ParametersOf(experts.expert, hidden).total()};
  if (experts.shared) {
    count += ParametersOf(*experts.shared, hidden);
    count.whole += experts.has_shared_gate ? hidden : 0;
  }
  return count;
}

PartParameters OfBlocks(const std::vector<BlockRun>& runs, std::int64_t hidden) {
  PartParameters sum;
  for (const BlockRun& run : runs) {
    sum += Times(run.count, ParametersOf(run.block, hidden));
  }
  return sum;
}

std::int64_t SharePerToken(const Block& block, std::int64_t all_experts) {
  const Experts* const experts = block.experts();
  return experts == nullptr ? 0 : all_experts / experts->count * experts->per_token;
}

std::int64_t ActiveOfBlock(const Block& block, std::int64_t hidden) {
  const PartParameters count = ParametersOf(block, hidden);
  return count.split + count.whole + SharePerToken(block, count.experts);
}

std::int64_t ActiveOfBlocks(const std::vector<BlockRun>& runs, std::int64_t hidden) {
  std::int64_t sum = 0;
  for (const BlockRun& run : runs) {
    sum += run.count * ActiveOfBlock(run.block, hidden);
  }
  return sum;
}

// Biases of relative positions: one set for each stack, shared by its blocks.
std::int64_t RelativePositionParameters(const Transformer& model) {
  std::int64_t sum = 0;
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    sum += stack->empty() ? 0 : model.relative_positions * stack->front().block.self.heads;
  }
  return sum;
}

std::int64_t Ends(const Transformer& model) {
  return EmbeddingParameters(model, model.vocabulary).total() +
         HeadParameters(model, model.vocabulary, false).total();
}

std::int64_t Total(const Transformer& model) {
  std::int64_t sum = Ends(model);
  sum += OfBlocks(model.encoder, model.hidden).total();
  sum += OfBlocks(model.blocks, model.hidden).total();
  return sum + model.extra_predictions * ExtraPredictionParameters(model).total();
}

std::int64_t Active(const Transformer& model) {
  std::int64_t sum = Ends(model);
  sum += ActiveOfBlocks(model.encoder, model.hidden);
  sum += ActiveOfBlocks(model.blocks, model.hidden);
  if (model.extra_predictions > 0) {
    const PartParameters extra = ExtraPredictionParameters(model);
    sum += model.extra_predictions *
           (extra.split + extra.whole + SharePerToken(model.blocks.back().block, extra.experts));
  }
  return sum;
}

std::int64_t Total(const LayerList& list) {
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

std::int64_t DenseParameters(const Dlrm& model) {
  return LinearChain(model.dense_features, model.bottom) +
         LinearChain(InteractionWidth(model), model.top);
}

std::int64_t Total(const Dlrm& model) {
  std::int64_t sum = DenseParameters(model);
  for (const EmbeddingTable& table : model.tables) {
    sum += table.rows * table.dim;
  }
  return sum;
}

std::int64_t Active(const LayerList& list) {
  return Total(list);
}

std::int64_t Active(const Dlrm& model) {
  std::int64_t sum = DenseParameters(model);
  for (const EmbeddingTable& table : model.tables) {
    sum += table.pool * table.dim;
  }
  return sum;
}

}  // namespace

PartParameters ParametersOf(const Block& block, std::int64_t hidden) {
  PartParameters count = ParametersOf(block.self, hidden);
  count.whole += 2 * NormParameters(block.norm, hidden);
  if (block.cross) {
    count += ParametersOf(*block.cross, hidden);
    count.whole += NormParameters(block.norm, hidden);
  }
  count += std::visit([hidden](const auto& mlp) { return ParametersOf(mlp, hidden); }, block.mlp);
  return count;
}

PartParameters EmbeddingParameters(const Transformer& model, std::int64_t vocabulary) {
  PartParameters count;
  count.whole = (model.positions + model.token_types) * model.hidden;
  count.whole += RelativePositionParameters(model);
  count.whole += model.has_embedding_norm ? NormParameters(model.norm, model.hidden) : 0;
  if (model.task == TransformerTask::kClassification) {
    // Patches of three colours, a bias, and the token that gathers the class.
    count.whole += (3 * model.patch * model.patch + 2) * model.hidden;
  } else {
    count.split = vocabulary * model.hidden;
  }
  return count;
}

PartParameters HeadParameters(const Transformer& model, std::int64_t vocabulary, bool with_tied) {
  PartParameters count;
  count.whole = NormParameters(model.norm, model.hidden) * (model.encoder.empty() ? 1 : 2);
  if (model.task == TransformerTask::kClassification) {
    count.whole += (model.hidden + 1) * vocabulary;
    return count;
  }
  if (!model.is_tied || with_tied) {
    count.split = vocabulary * model.hidden;
  }
  if (model.has_head_transform) {
    count.whole += (model.hidden + 1) * model.hidden;
    count.split += vocabulary;
  }
  return count;
}

PartParameters ExtraPredictionParameters(const Transformer& model) {
  if (model.blocks.empty()) {
    return {};
  }
  PartParameters count = ParametersOf(model.blocks.back().block, model.hidden);
  count.whole += 2 * model.hidden * model.hidden + 3 * NormParameters(model.norm, model.hidden);
  return count;
}

std::int64_t InteractionWidth(const Dlrm& model) {
  const auto vectors = static_cast<std::int64_t>(model.tables.size()) + 1;
  const std::int64_t dense = model.bottom.empty() ? model.dense_features : model.bottom.back();
  return dense + vectors * (vectors - 1) / 2;
}

std::int64_t TotalParameters(const Model& model) {
  return std::visit([](const auto& body) { return Total(body); }, model.body);
}

std::int64_t ActiveParameters(const Model& model) {
  return std::visit([](const auto& body) { return Active(body); }, model.body);
}

}  // namespace orrery::workload
