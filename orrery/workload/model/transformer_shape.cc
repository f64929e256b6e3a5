#include "orrery/workload/model/transformer_shape.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>
#include <variant>

#include <fmt/core.h>

namespace orrery::workload {
namespace {


constexpr std::array<Spelling<Activation>, 5> kActivations{{
    {"gelu", Activation::kGelu},
    {"written_out_gelu", Activation::kWrittenOutGelu},
    {"relu", Activation::kRelu},
    {"silu", Activation::kSilu},
    {"squared_relu", Activation::kSquaredRelu},
}};

constexpr std::array<Spelling<NormKind>, 2> kNorms{{
    {"layer", NormKind::kLayer},
    {"rms", NormKind::kRms},
}};

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

FeedForward MakeFeedForward(const TransformerShape& shape, std::int64_t width) {
  return {.width = width,
          .activation = shape.activation,
          .is_gated = shape.gated,
          .has_bias = shape.ffn_bias};
}

std::int64_t FeedForwardWidth(const TransformerShape& shape) {
  return shape.ffn > 0 ? shape.ffn : 4 * shape.hidden;
}

Experts MakeExperts(const TransformerShape& shape) {
  const std::int64_t width = shape.expert_ffn > 0 ? shape.expert_ffn : FeedForwardWidth(shape);
  Experts experts = {.count = shape.experts,
                     .per_token = shape.experts_per_token,
                     .expert = MakeFeedForward(shape, width)};
  if (shape.shared_ffn > 0) {
    experts.shared = MakeFeedForward(shape, shape.shared_ffn);
    experts.has_shared_gate = shape.shared_gate;
  }
  return experts;
}

bool HasExperts(const TransformerShape& shape, std::int64_t layer) {
  if (shape.experts == 0) {
    return false;
  }
  if (!shape.moe_layers.empty()) {
    return shape.moe_layers[static_cast<std::size_t>(layer)];
  }
  return layer >= shape.dense_layers && layer % shape.moe_every == shape.moe_offset;
}

std::vector<BlockRun> MakeBlocks(const TransformerShape& shape, Block block, std::int64_t layers) {
  std::vector<BlockRun> runs;
  for (std::int64_t layer = 0; layer < layers; ++layer) {
    if (HasExperts(shape, layer)) {
      block.mlp = MakeExperts(shape);
    } else {
      block.mlp = MakeFeedForward(shape, FeedForwardWidth(shape));
    }
    if (!runs.empty() && runs.back().block == block) {
      ++runs.back().count;
    } else {
      runs.push_back({.block = block, .count = 1});
    }
  }
  return runs;
}

Status Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

constexpr std::int64_t kLargestSize = 1'000'000'000;
constexpr std::int64_t kMostLayers = 100'000;
constexpr double kMostParameters = 1e17;

constexpr std::array<std::int64_t TransformerShape::*, 20> kSizes{
    &TransformerShape::hidden,
    &TransformerShape::heads,
    &TransformerShape::kv_heads,
    &TransformerShape::head_size,
    &TransformerShape::value_head_size,
    &TransformerShape::ffn,
    &TransformerShape::window,
    &TransformerShape::vocabulary,
    &TransformerShape::positions,
    &TransformerShape::token_types,
    &TransformerShape::relative_positions,
    &TransformerShape::experts,
    &TransformerShape::experts_per_token,
    &TransformerShape::expert_ffn,
    &TransformerShape::shared_ffn,
    &TransformerShape::query_rank,
    &TransformerShape::key_value_rank,
    &TransformerShape::rope_size,
    &TransformerShape::patch,
    &TransformerShape::image,
};

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
  const bool has_giant =
      std::ranges::any_of(kSizes, [&shape](auto member) { return shape.*member > kLargestSize; });
  const std::int64_t most_layers =
      std::max({shape.layers, shape.encoder_layers, shape.extra_predictions});
  if (has_giant || most_layers > kMostLayers || MostParameters(shape) > kMostParameters) {
    return Fail(Error::Kind::kLimit,
                fmt::format("a size of the model is beyond what is simulated: {} layers, sizes of "
                            "{}, {:g} parameters",
                            kMostLayers, kLargestSize, kMostParameters));
  }
  return {};
}

Status CheckHeads(const TransformerShape& shape) {
  if (shape.head_size == 0 && shape.hidden % shape.heads != 0) {
    return Refuse(
        fmt::format("hidden {} does not divide by heads {}: fix one of them or give head_size",
                    shape.hidden, shape.heads));
  }
  if (shape.kv_heads > 0 && shape.heads % shape.kv_heads != 0) {
    return Refuse(fmt::format("heads {} does not divide by kv_heads {}: give a divisor",
                              shape.heads, shape.kv_heads));
  }
  return {};
}

Status CheckExperts(const TransformerShape& shape) {
  if (shape.experts == 0) {
    return {};
  }
  if (shape.experts_per_token < 1 || shape.experts_per_token > shape.experts) {
    return Refuse(fmt::format("experts_per_token {} must be between 1 and experts {}",
                              shape.experts_per_token, shape.experts));
  }
  if (shape.moe_offset >= shape.moe_every) {
    return Refuse(
        fmt::format("moe_offset {} must be below moe_every {}", shape.moe_offset, shape.moe_every));
  }
  if (!shape.moe_layers.empty() &&
      std::cmp_not_equal(shape.moe_layers.size(), std::max(shape.layers, shape.encoder_layers))) {
    return Refuse(fmt::format("moe_layers names {} layers, and the model has {}",
                              shape.moe_layers.size(), shape.layers));
  }
  return {};
}

Status Check(const TransformerShape& shape) {
  for (const auto& [key, value] : {std::pair("hidden", shape.hidden),
                                   {"layers", shape.layers},
                                   {"heads", shape.heads},
                                   {"vocabulary", shape.vocabulary}}) {
    if (value < 1) {
      return Refuse(fmt::format("{} is missing: give a whole number of at least 1", key));
    }
  }
  if (shape.classifies && (shape.patch < 1 || shape.image < shape.patch)) {
    return Refuse("a model of images needs image and patch, the sizes of their sides");
  }
  ORRERY_TRY_STATUS(CheckLimits(shape));
  ORRERY_TRY_STATUS(CheckHeads(shape));
  return CheckExperts(shape);
}

void ReadLayerFields(YamlFields& fields, const TransformerShape& base, TransformerShape& shape) {
  shape.hidden = fields.Size("hidden", 1, base.hidden);
  shape.layers = fields.Size("layers", 1, base.layers);
  shape.encoder_layers = fields.Size("encoder_layers", 0, base.encoder_layers);
  shape.heads = fields.Size("heads", 1, base.heads);
  shape.kv_heads = fields.Size("kv_heads", 0, base.kv_heads);
  shape.head_size = fields.Size("head_size", 0, base.head_size);
  shape.value_head_size = fields.Size("value_head_size", 0, base.value_head_size);
  shape.ffn = fields.Size("ffn", 0, base.ffn);
  shape.activation =
      fields.Choice("activation", std::span<const Spelling<Activation>>(kActivations),
                    std::optional(base.activation));
  shape.gated = fields.Flag("gated", base.gated);
  shape.attention_bias = fields.Flag("attention_bias", base.attention_bias);
  shape.qkv_bias = fields.Flag("qkv_bias", base.qkv_bias);
  shape.ffn_bias = fields.Flag("ffn_bias", base.ffn_bias);
  shape.norm =
      fields.Choice("norm", std::span<const Spelling<NormKind>>(kNorms), std::optional(base.norm));
  shape.causal = fields.Flag("causal", base.causal);
  shape.rope = fields.Flag("rope", base.rope);
  shape.qk_norm = fields.Flag("qk_norm", base.qk_norm);
  shape.window = fields.Size("window", 0, base.window);
  shape.parallel = fields.Flag("parallel", base.parallel);
}

void ReadEndFields(YamlFields& fields, const TransformerShape& base, TransformerShape& shape) {
  shape.vocabulary = fields.Size("vocabulary", 1, base.vocabulary);
  shape.positions = fields.Size("positions", 0, base.positions);
  shape.token_types = fields.Size("token_types", 0, base.token_types);
  shape.relative_positions = fields.Size("relative_positions", 0, base.relative_positions);
  shape.embedding_norm = fields.Flag("embedding_norm", base.embedding_norm);
  shape.tied = fields.Flag("tied", base.tied);
  shape.head_transform = fields.Flag("head_transform", base.head_transform);
  shape.dropout = fields.Number("dropout", 0, base.dropout);
  shape.attention_dropout = fields.Number("attention_dropout", 0, base.attention_dropout);
  shape.extra_predictions = fields.Size("extra_predictions", 0, base.extra_predictions);
  shape.classifies = fields.Flag("classifies", base.classifies);
  shape.patch = fields.Size("patch", 0, base.patch);
  shape.image = fields.Size("image", 0, base.image);
}

void ReadExpertFields(YamlFields& fields, const TransformerShape& base, TransformerShape& shape) {
  shape.experts = fields.Size("experts", 0, base.experts);
  shape.experts_per_token = fields.Size("experts_per_token", 0, base.experts_per_token);
  shape.expert_ffn = fields.Size("expert_ffn", 0, base.expert_ffn);
  shape.shared_ffn = fields.Size("shared_ffn", 0, base.shared_ffn);
  shape.shared_gate = fields.Flag("shared_gate", base.shared_gate);
  shape.dense_layers = fields.Size("dense_layers", 0, base.dense_layers);
  shape.moe_every = fields.Size("moe_every", 1, base.moe_every);
  shape.moe_offset = fields.Size("moe_offset", 0, base.moe_offset);
  shape.moe_layers = base.moe_layers;
  shape.query_rank = fields.Size("query_rank", 0, base.query_rank);
  shape.key_value_rank = fields.Size("key_value_rank", 0, base.key_value_rank);
  shape.rope_size = fields.Size("rope_size", 0, base.rope_size);
}

void FillEnds(const TransformerShape& shape, Transformer& model) {
  model.hidden = shape.hidden;
  model.vocabulary = shape.vocabulary;
  model.positions = shape.positions;
  model.token_types = shape.token_types;
  model.relative_positions = shape.relative_positions;
  model.has_embedding_norm = shape.embedding_norm;
  model.is_tied = shape.tied;
  model.has_head_transform = shape.head_transform;
  model.norm = shape.norm;
  model.dropout = shape.dropout;
  model.attention_dropout = shape.attention_dropout;
  model.extra_predictions = shape.extra_predictions;
  model.patch = shape.patch;
  model.image = shape.image;
}

}  // namespace

Result<Transformer> MakeTransformer(const TransformerShape& shape) {
  ORRERY_TRY_STATUS(Check(shape));
  Transformer model;
  FillEnds(shape, model);
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

TransformerShape ReadTransformerShape(YamlFields& fields, const TransformerShape& base) {
  TransformerShape shape;
  ReadLayerFields(fields, base, shape);
  ReadEndFields(fields, base, shape);
  ReadExpertFields(fields, base, shape);
  return shape;
}

}  // namespace orrery::workload
