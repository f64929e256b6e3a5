#include "orrery/workload/model/transformer_shape.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/workload/input.h"
#include "orrery/workload/job_key_words.h"
#include "orrery/workload/keys/job_keys.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {
namespace {

Attention MakeAttention(const TransformerShape& shape, bool is_causal) {
  const std::int64_t head_size = shape.head_size > 0 ? shape.head_size : shape.hidden / shape.heads;
  Attention attention;
  attention.heads = shape.heads;
  attention.kv_heads = shape.kv_heads > 0 ? shape.kv_heads : shape.heads;
  attention.head_size = head_size;
  attention.value_head_size = shape.value_head_size > 0 ? shape.value_head_size : head_size;
  attention.is_causal = is_causal;
  attention.has_bias = shape.attention_bias;
  attention.has_qkv_bias = shape.qkv_bias;
  attention.has_rope = shape.rope;
  attention.has_qk_norm = shape.qk_norm;
  attention.window = shape.window;
  if (shape.key_value_rank > 0) {
    attention.latent = {.query_rank = shape.query_rank,
                        .key_value_rank = shape.key_value_rank,
                        .rope_size = shape.rope_size};
  }
  return attention;
}

// Of the given width, else of the usual one.
FeedForward MakeFeedForward(const TransformerShape& shape, std::int64_t width) {
  const std::int64_t usual = shape.ffn > 0 ? shape.ffn : 4 * shape.hidden;
  return {.width = width > 0 ? width : usual,
          .activation = shape.activation,
          .is_gated = shape.gated,
          .has_bias = shape.ffn_bias};
}

Experts MakeExperts(const TransformerShape& shape) {
  Experts experts = {.count = shape.experts,
                     .per_token = shape.experts_per_token,
                     .expert = MakeFeedForward(shape, shape.expert_ffn)};
  if (shape.shared_ffn > 0) {
    experts.shared = MakeFeedForward(shape, shape.shared_ffn);
    experts.has_shared_gate = shape.shared_gate;
  }
  return experts;
}

std::vector<BlockRun> MakeBlocks(const TransformerShape& shape, Block block, std::int64_t layers) {
  std::vector<BlockRun> runs;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    const bool has_experts =
        shape.moe_layers.empty()
            ? layer >= shape.dense_layers && layer % shape.moe_every == shape.moe_offset
            : shape.moe_layers[static_cast<std::size_t>(layer)];
    if (shape.experts > 0 && has_experts) {
      block.mlp = MakeExperts(shape);
    } else {
      block.mlp = MakeFeedForward(shape, 0);
    }
    if (!shape.window_layers.empty()) {
      block.self.window = shape.window_layers[static_cast<std::size_t>(layer)] ? shape.window : 0;
    }
    if (!runs.empty() && runs.back().block == block) {
      ++runs.back().count;
    } else {
      runs.push_back({.block = block, .count = 1});
    }
  }
  return runs;
}

constexpr std::int64_t kLargestSize = 1'000'000'000;
constexpr std::int64_t kMostLayers = 100'000;
constexpr double kMostParameters = 1e17;

// More than enough, in floating point, where whole numbers may be too small.
double MostParameters(const TransformerShape& shape) {
  const auto real = [](std::int64_t size) { return static_cast<double>(size); };
  const double head = real(std::max({shape.head_size, shape.value_head_size, shape.hidden})) +
                      real(shape.rope_size);
  const double ranks = real(shape.hidden) + real(shape.query_rank) + real(shape.key_value_rank);
  const double width = real(shape.shared_ffn) + real(std::max(shape.ffn, 4 * shape.hidden)) +
                       real(shape.experts) * real(std::max(shape.expert_ffn, 4 * shape.hidden));
  const double layer = 8 * ranks * (real(shape.heads) * head + width + ranks);
  const double ends = real(shape.vocabulary) + real(shape.positions) +
                      3 * real(shape.patch) * real(shape.patch) + real(shape.hidden);
  return real(shape.layers + shape.encoder_layers + shape.extra_predictions) * layer +
         2 * real(shape.hidden) * ends;
}

Status CheckLimits(const TransformerShape& shape) {
  const bool has_giant = std::ranges::any_of(
      kModelSizes, [&shape](auto member) { return shape.*member > kLargestSize; });
  const std::int64_t most_layers =
      std::max({shape.layers, shape.encoder_layers, shape.extra_predictions});
  if (has_giant || most_layers > kMostLayers || MostParameters(shape) > kMostParameters) {
    return Fail(Error::Kind::kLimit, fmt::format("a size of the model is beyond what is simulated: "
                                                 "{} layers, sizes of {}, {:g} parameters",
                                                 kMostLayers, kLargestSize, kMostParameters));
  }
  return {};
}

Status CheckHeads(const TransformerShape& shape) {
  if (shape.head_size == 0 && shape.hidden % shape.heads != 0) {
    return Refuse("hidden {} does not divide by heads {}: fix one of them or give head_size",
                  shape.hidden, shape.heads);
  }
  if (shape.kv_heads > 0 && shape.heads % shape.kv_heads != 0) {
    return Refuse("heads {} does not divide by kv_heads {}: give a divisor", shape.heads,
                  shape.kv_heads);
  }
  return {};
}

Status CheckExperts(const TransformerShape& shape) {
  if (shape.experts == 0) {
    return {};
  }
  if (shape.experts_per_token < 1 || shape.experts_per_token > shape.experts) {
    return Refuse("experts_per_token {} must be between 1 and experts {}", shape.experts_per_token,
                  shape.experts);
  }
  if (shape.moe_offset >= shape.moe_every) {
    return Refuse("moe_offset {} must be below moe_every {}", shape.moe_offset, shape.moe_every);
  }
  if (!shape.moe_layers.empty() &&
      std::cmp_not_equal(shape.moe_layers.size(), std::max(shape.layers, shape.encoder_layers))) {
    return Refuse("moe_layers names {} layers, and the model has {}", shape.moe_layers.size(),
                  shape.layers);
  }
  return {};
}

Status Check(const TransformerShape& shape) {
  for (const auto& [key, value] : {std::pair("hidden", shape.hidden),
                                   {"layers", shape.layers},
                                   {"heads", shape.heads},
                                   {"vocabulary", shape.vocabulary}}) {
    if (value < 1) {
      return Refuse("{} is missing: give a whole number of at least 1", key);
    }
  }
  if (shape.classifies && (shape.patch < 1 || shape.image < shape.patch)) {
    return Refuse("a model of images needs image and patch, the sizes of their sides");
  }
  ORRERY_TRY_STATUS(CheckLimits(shape));
  ORRERY_TRY_STATUS(CheckHeads(shape));
  return CheckExperts(shape);
}

// Of all layers: the last attention with a window, and the widths of both kinds of networks.
void TakeBlock(const Block& block, TransformerShape& shape) {
  const Attention& self = block.self;
  const LatentAttention latent = self.latent.value_or(LatentAttention{});
  shape.heads = self.heads;
  shape.kv_heads = self.kv_heads;
  shape.head_size = self.head_size;
  shape.value_head_size = self.value_head_size;
  shape.attention_bias = self.has_bias;
  shape.qkv_bias = self.has_qkv_bias;
  shape.causal = self.is_causal;
  shape.rope = self.has_rope;
  shape.qk_norm = self.has_qk_norm;
  shape.window = std::max(shape.window, self.window);
  shape.query_rank = latent.query_rank;
  shape.key_value_rank = latent.key_value_rank;
  shape.rope_size = latent.rope_size;
  shape.parallel = block.is_parallel;
  const Experts* const experts = block.experts();
  const FeedForward& network =
      experts == nullptr ? std::get<FeedForward>(block.mlp) : experts->expert;
  shape.activation = network.activation;
  shape.gated = network.is_gated;
  shape.ffn_bias = network.has_bias;
  if (experts == nullptr) {
    shape.ffn = network.width;
    return;
  }
  shape.experts = experts->count;
  shape.experts_per_token = experts->per_token;
  shape.expert_ffn = network.width;
  shape.shared_ffn = experts->shared ? experts->shared->width : 0;
  shape.shared_gate = experts->has_shared_gate;
}

void TakeBlocks(const std::vector<BlockRun>& runs, TransformerShape& shape) {
  for (const BlockRun& run : runs) {
    TakeBlock(run.block, shape);
    shape.layers += run.count;
    const auto count = static_cast<std::size_t>(run.count);
    shape.window_layers.insert(shape.window_layers.end(), count, run.block.self.window > 0);
    shape.moe_layers.insert(shape.moe_layers.end(), count, run.block.experts() != nullptr);
  }
  shape.ffn = shape.ffn == 0 ? shape.expert_ffn : shape.ffn;
  for (std::vector<bool>* const layers : {&shape.window_layers, &shape.moe_layers}) {
    if (std::ranges::find(*layers, !layers->front()) == layers->end()) {
      layers->clear();  // all alike
    }
  }
}

}  // namespace

Result<Transformer> MakeTransformer(const TransformerShape& shape) {
  ORRERY_TRY_STATUS(Check(shape));
  Transformer model = {.hidden = shape.hidden,
                       .vocabulary = shape.vocabulary,
                       .positions = shape.positions,
                       .token_types = shape.token_types,
                       .relative_positions = shape.relative_positions,
                       .has_embedding_norm = shape.embedding_norm,
                       .is_tied = shape.tied,
                       .has_head_transform = shape.head_transform,
                       .norm = shape.norm,
                       .dropout = shape.dropout,
                       .attention_dropout = shape.attention_dropout,
                       .extra_predictions = shape.extra_predictions,
                       .patch = shape.patch,
                       .image = shape.image};
  Block block = {.self = MakeAttention(shape, shape.causal),
                 .norm = shape.norm,
                 .is_parallel = shape.parallel};
  if (shape.encoder_layers > 0) {
    Block encoder = block;
    encoder.self.is_causal = false;
    model.encoder = MakeBlocks(shape, encoder, shape.encoder_layers);
    block.cross = encoder.self;
  }
  model.blocks = MakeBlocks(shape, block, shape.layers);
  if (shape.classifies) {
    model.task = TransformerTask::kClassification;
    const std::int64_t side = shape.image / shape.patch;
    model.positions = side * side + 1;
  }
  return model;
}

Result<TransformerShape> ShapeOfTransformer(const Transformer& model) {
  TransformerShape shape = {.hidden = model.hidden,
                            .norm = model.norm,
                            .vocabulary = model.vocabulary,
                            .positions = model.positions,
                            .token_types = model.token_types,
                            .relative_positions = model.relative_positions,
                            .embedding_norm = model.has_embedding_norm,
                            .tied = model.is_tied,
                            .head_transform = model.has_head_transform,
                            .dropout = model.dropout,
                            .attention_dropout = model.attention_dropout,
                            .extra_predictions = model.extra_predictions,
                            .classifies = model.task == TransformerTask::kClassification,
                            .patch = model.patch,
                            .image = model.image};
  if (!model.blocks.empty()) {
    TakeBlocks(model.blocks, shape);
  }
  for (const BlockRun& run : model.encoder) {
    shape.encoder_layers += run.count;
  }
  const auto made = MakeTransformer(shape);
  if (!made || *made != model) {
    return Refuse("the layers of the model differ in more than experts and windows");
  }
  return shape;
}

TransformerShape ReadTransformerShape(YamlFields& fields, const TransformerShape& base) {
  TransformerShape shape = base;
  ReadKeys("model", fields, {.model = &shape});
  return shape;
}

}  // namespace orrery::workload
