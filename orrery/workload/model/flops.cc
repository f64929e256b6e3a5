#include "orrery/workload/model/flops.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <variant>
#include <vector>

#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/parameters.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {
namespace {

double Real(std::int64_t count) {
  return static_cast<double>(count);
}

constexpr std::array<double ForwardFlops::*, 5> kParts{
    &ForwardFlops::products, &ForwardFlops::router, &ForwardFlops::scores,
    &ForwardFlops::causal_scores, &ForwardFlops::head};

void Add(double count, const ForwardFlops& part, ForwardFlops& sum) {
  for (const auto member : kParts) {
    sum.*member += count * part.*member;
  }
}

std::int64_t QueryKeySize(const Attention& attention) {
  return attention.head_size + (attention.latent ? attention.latent->rope_size : 0);
}

// Numbers of the matrices that every token meets, without biases and norms.
double MatrixElements(const Attention& attention, std::int64_t hidden) {
  const std::int64_t out = attention.heads * attention.value_head_size * hidden;
  if (!attention.latent) {
    return Real(out + hidden * ((attention.heads + attention.kv_heads) * attention.head_size +
                                attention.kv_heads * attention.value_head_size));
  }
  const LatentAttention& latent = *attention.latent;
  const std::int64_t query = attention.heads * QueryKeySize(attention);
  const std::int64_t key_value =
      attention.heads * (attention.head_size + attention.value_head_size);
  const std::int64_t query_elements =
      latent.query_rank > 0 ? latent.query_rank * (hidden + query) : hidden * query;
  return Real(out + query_elements + hidden * (latent.key_value_rank + latent.rope_size) +
              latent.key_value_rank * key_value);
}

double MatrixElements(const FeedForward& mlp, std::int64_t hidden) {
  return Real((mlp.is_gated ? 3 : 2) * hidden * mlp.width);
}

// Keys of a query over all of them, where a window leaves out some.
double WindowShare(const Attention& attention, std::int64_t sequence) {
  return attention.window > 0 && sequence > 0
             ? Real(std::min(attention.window, sequence)) / Real(sequence)
             : 1;
}

ForwardFlops OfAttention(const Attention& attention, std::int64_t hidden, const TokenBatch& batch) {
  ForwardFlops flops;
  flops.products = 2 * batch.tokens() * MatrixElements(attention, hidden);
  flops.scores = 2 * batch.tokens() * Real(batch.sequence) * Real(attention.heads) *
                 Real(QueryKeySize(attention) + attention.value_head_size);
  // A triangle of the square; of a band, all but the first triangle.
  const double seen = WindowShare(attention, batch.sequence);
  flops.scores *= seen;
  flops.causal_scores = flops.scores * (attention.is_causal ? 1 - seen / 2 : 1);
  return flops;
}

ForwardFlops OfMlp(const FeedForward& mlp, std::int64_t hidden, double tokens) {
  return {.products = 2 * tokens * MatrixElements(mlp, hidden)};
}

ForwardFlops OfMlp(const Experts& experts, std::int64_t hidden, double tokens) {
  ForwardFlops flops;
  Add(Real(experts.per_token), OfMlp(experts.expert, hidden, tokens), flops);
  flops.router = 2 * tokens * Real(hidden * experts.count);
  if (experts.shared) {
    Add(1, OfMlp(*experts.shared, hidden, tokens), flops);
  }
  return flops;
}

ForwardFlops OfBlock(const Block& block, std::int64_t hidden, const TokenBatch& batch) {
  ForwardFlops flops = OfAttention(block.self, hidden, batch);
  if (block.cross) {
    Add(1, OfAttention(*block.cross, hidden, batch), flops);
  }
  Add(1, std::visit([&](const auto& mlp) { return OfMlp(mlp, hidden, batch.tokens()); }, block.mlp),
      flops);
  return flops;
}

ForwardFlops OfEnds(const Transformer& model, const TokenBatch& batch) {
  const bool classifies = model.task == TransformerTask::kClassification;
  const double predictions = classifies ? Real(batch.samples) : batch.tokens();
  ForwardFlops flops;
  flops.head = 2 * predictions * Real(model.hidden * model.vocabulary);
  if (model.has_head_transform) {
    flops.head += 2 * predictions * Real(model.hidden * model.hidden);
  }
  if (classifies) {
    flops.products = 2 * batch.tokens() * Real(3 * model.patch * model.patch * model.hidden);
  }
  return flops;
}

ForwardFlops OfExtraPrediction(const Transformer& model, const TokenBatch& batch) {
  ForwardFlops flops = OfBlock(model.blocks.back().block, model.hidden, batch);
  flops.products += 2 * batch.tokens() * Real(2 * model.hidden * model.hidden);
  flops.head = OfEnds(model, batch).head;
  return flops;
}

// A step without recomputation: the backward pass makes two products of each.
double ThreePasses(const ForwardFlops& forward, double scores) {
  return 3 * (forward.products + scores + forward.head);
}

/// Calls `visit` with each run of alike blocks and how many of them are trained.
template <typename Visit>
void ForEachRun(const Transformer& model, std::int64_t frozen_blocks, const Visit& visit) {
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    for (const BlockRun& run : *stack) {
      const std::int64_t frozen = std::min<std::int64_t>(run.count, frozen_blocks);
      frozen_blocks -= frozen;
      visit(run, run.count - frozen);
    }
  }
}

// Forward, of the two narrow products beside each target.
double AdapterFlops(const Transformer& model, const TokenBatch& batch, const TrainedPart& trained) {
  double elements = 0;
  ForEachRun(model, trained.frozen_blocks, [&](const BlockRun& run, std::int64_t count) {
    for (const ParameterTensor& tensor : AdapterTensors(run.block, model.hidden, trained)) {
      elements += Real(count) * Real(tensor.elements);
    }
  });
  return trained.adapter_rank > 0 ? 2 * batch.tokens() * elements : 0;
}

// Forward, of the blocks that have no backward pass.
ForwardFlops FrozenFlops(const Transformer& model, const TokenBatch& batch,
                         std::int64_t frozen_blocks) {
  ForwardFlops flops;
  ForEachRun(model, frozen_blocks, [&](const BlockRun& run, std::int64_t count) {
    Add(Real(run.count - count), OfBlock(run.block, model.hidden, batch), flops);
  });
  return flops;
}

// Frozen products have gradients of their inputs alone.
double PassesOfProducts(const TrainedPart& trained) {
  return trained.adapter_rank > 0 ? 2 : 3;
}

// Products that come again before the backward pass of a block that keeps the rest.
double AgainInBlock(const Block& block, std::int64_t hidden, const TokenBatch& batch,
                    const RecomputedParts& parts) {
  double flops = 0;
  if (block.self.latent && parts.latent_up) {
    const LatentAttention& latent = *block.self.latent;
    const std::int64_t elements =
        latent.query_rank * QueryKeySize(block.self) +
        latent.key_value_rank * (block.self.head_size + block.self.value_head_size);
    flops += 2 * batch.tokens() * Real(block.self.heads * elements);
  }
  if (const Experts* const experts = block.experts(); experts != nullptr && parts.experts) {
    const ForwardFlops layer = OfMlp(*experts, hidden, batch.tokens());
    flops += layer.products + layer.router;
  }
  if (const FeedForward* const mlp = block.feed_forward(); mlp != nullptr && parts.mlp) {
    flops += OfMlp(*mlp, hidden, batch.tokens()).products;
  }
  return flops;
}

double AgainInParts(const Transformer& model, const TokenBatch& batch, const RecomputedParts& parts,
                    std::int64_t frozen_blocks) {
  double flops = 0;
  ForEachRun(model, frozen_blocks, [&](const BlockRun& run, std::int64_t count) {
    flops += Real(count) * AgainInBlock(run.block, model.hidden, batch, parts);
  });
  return flops + Real(model.extra_predictions) *
                     AgainInBlock(model.blocks.back().block, model.hidden, batch, parts);
}

double FlopsOf(const std::vector<kernel::Operator>& operators) {
  double sum = 0;
  for (const kernel::Operator& op : operators) {
    sum += kernel::IsGemm(op.kind()) ? kernel::WorkOf(op).flops : 0;
  }
  return sum;
}

double ChainElements(std::int64_t width, const std::vector<std::int64_t>& widths) {
  double sum = 0;
  for (const std::int64_t next : widths) {
    sum += Real(width * next);
    width = next;
  }
  return sum;
}

}  // namespace

ForwardFlops ForwardFlopsOf(const Transformer& model, const TokenBatch& batch) {
  ForwardFlops flops = OfEnds(model, batch);
  for (const std::vector<BlockRun>* const stack : {&model.encoder, &model.blocks}) {
    for (const BlockRun& run : *stack) {
      Add(Real(run.count), OfBlock(run.block, model.hidden, batch), flops);
    }
  }
  if (model.extra_predictions > 0) {
    Add(Real(model.extra_predictions), OfExtraPrediction(model, batch), flops);
  }
  return flops;
}

double RecomputedFlops(const Transformer& model, const TokenBatch& batch) {
  const ForwardFlops forward = ForwardFlopsOf(model, batch);
  return 4 * (forward.products + forward.scores) + 3 * forward.head;
}

double ModelFlops(const Transformer& model, const TokenBatch& batch, const TrainedPart& trained) {
  const ForwardFlops forward = ForwardFlopsOf(model, batch);
  const ForwardFlops frozen = FrozenFlops(model, batch, trained.frozen_blocks);
  const double passes = PassesOfProducts(trained);
  return passes * (forward.products + forward.head) +
         3 * (forward.scores + AdapterFlops(model, batch, trained)) -
         (passes - 1) * frozen.products - 2 * frozen.scores;
}

double SelectiveFlops(const Transformer& model, const TokenBatch& batch) {
  const ForwardFlops forward = ForwardFlopsOf(model, batch);
  return ThreePasses(forward, forward.scores) + forward.scores;
}

double LlmFoundryFlops(const Transformer& model, const TokenBatch& batch) {
  const double parameters = Real(ActiveParameters({.name = {}, .body = model}));
  return 3 * (2 * parameters * batch.tokens() +
              4 * Real(model.num_blocks() * model.hidden) * Real(batch.sequence) * batch.tokens());
}

double MegatronFlops(const Transformer& model, const TokenBatch& batch) {
  const ForwardFlops forward = ForwardFlopsOf(model, batch);
  return ThreePasses(forward, forward.causal_scores);
}

double SixNFlops(const Transformer& model, const TokenBatch& batch) {
  return 6 * Real(ActiveParameters({.name = {}, .body = model})) * batch.tokens();
}

double ExecutedFlops(const Transformer& model, const TokenBatch& batch,
                     const Execution& execution) {
  const ForwardFlops forward = ForwardFlopsOf(model, batch);
  const double scores = execution.skips_masked ? forward.causal_scores : forward.scores;
  const double adapters = AdapterFlops(model, batch, execution.trained);
  const ForwardFlops frozen = FrozenFlops(model, batch, execution.trained.frozen_blocks);
  const double frozen_scores = execution.skips_masked ? frozen.causal_scores : frozen.scores;
  const double layers = forward.products + forward.router + scores + adapters - frozen.products -
                        frozen.router - frozen_scores;
  const double passes = PassesOfProducts(execution.trained);
  double flops = passes * (forward.products + forward.router + forward.head) -
                 (passes - 1) * (frozen.products + frozen.router);
  const double score_passes = execution.rebuilds_scores ? 3.5 : 3;
  flops += score_passes * scores - (score_passes - 1) * frozen_scores + 3 * adapters;
  if (execution.recompute == Recompute::kSelective) {
    flops += scores - frozen_scores;
  }
  if (execution.recompute == Recompute::kOperators) {
    flops += (forward.products - frozen.products) / 2;
  }
  const double whole = execution.recompute == Recompute::kFull ? execution.recomputed_share : 0;
  return flops + whole * layers +
         (1 - whole) * AgainInParts(model, batch, execution.parts, execution.trained.frozen_blocks);
}

double ModelFlops(const LayerList& list, std::int64_t samples) {
  double sum = 0;
  for (const ListedLayer& layer : list.layers) {
    const double forward = FlopsOf(layer.forward);
    sum += forward + (layer.backward.empty() ? 2 * forward : FlopsOf(layer.backward));
  }
  return sum * Real(samples);
}

double ModelFlops(const Dlrm& model, std::int64_t samples) {
  const double vectors = Real(static_cast<std::int64_t>(model.tables.size()) + 1);
  const std::int64_t dim = model.bottom.empty() ? model.dense_features : model.bottom.back();
  const double elements = ChainElements(model.dense_features, model.bottom) +
                          ChainElements(InteractionWidth(model), model.top) +
                          vectors * vectors * Real(dim);
  return 6 * elements * Real(samples);
}

double ModelFlops(const Model& model, const TokenBatch& batch, const TrainedPart& trained) {
  if (const Transformer* const transformer = model.transformer()) {
    return ModelFlops(*transformer, batch, trained);
  }
  if (const LayerList* const list = model.layer_list()) {
    return ModelFlops(*list, batch.samples);
  }
  return ModelFlops(*model.dlrm(), batch.samples);
}

}  // namespace orrery::workload
