#pragma once

#include <cstdint>

#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// Models that tests count by hand, spelled out so that they depend on no reader.

struct GptShape {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;
  std::int64_t heads = 0;
  std::int64_t vocabulary = 0;
  std::int64_t positions = 1024;
};

inline Transformer Gpt(const GptShape& shape) {
  const std::int64_t head_size = shape.hidden / shape.heads;
  const Block block = {.self = {.heads = shape.heads,
                                .kv_heads = shape.heads,
                                .head_size = head_size,
                                .value_head_size = head_size,
                                .has_bias = true},
                       .mlp = FeedForward{.width = 4 * shape.hidden, .has_bias = true}};
  return {.hidden = shape.hidden,
          .blocks = {{.block = block, .count = shape.layers}},
          .vocabulary = shape.vocabulary,
          .positions = shape.positions,
          .is_tied = true};
}

inline FeedForward GatedSilu(std::int64_t width) {
  return {.width = width, .activation = Activation::kSilu, .is_gated = true};
}

inline Transformer Llama3() {
  const Block block = {.self = {.heads = 32,
                                .kv_heads = 8,
                                .head_size = 128,
                                .value_head_size = 128,
                                .has_rope = true},
                       .mlp = GatedSilu(14336),
                       .norm = NormKind::kRms};
  return {.hidden = 4096,
          .blocks = {{.block = block, .count = 32}},
          .vocabulary = 128256,
          .norm = NormKind::kRms};
}

inline Transformer Mixtral() {
  Transformer model = Llama3();
  model.vocabulary = 32000;
  model.blocks[0].block.mlp = Experts{.count = 8, .per_token = 2, .expert = GatedSilu(14336)};
  return model;
}

inline Transformer DeepseekV3() {
  const Attention attention = {
      .heads = 128,
      .kv_heads = 128,
      .head_size = 128,
      .value_head_size = 128,
      .has_rope = true,
      .latent = LatentAttention{.query_rank = 1536, .key_value_rank = 512, .rope_size = 64}};
  const Block dense = {.self = attention, .mlp = GatedSilu(18432), .norm = NormKind::kRms};
  Block sparse = dense;
  sparse.mlp =
      Experts{.count = 256, .per_token = 8, .expert = GatedSilu(2048), .shared = GatedSilu(2048)};
  return {.hidden = 7168,
          .blocks = {{.block = dense, .count = 3}, {.block = sparse, .count = 58}},
          .vocabulary = 129280,
          .norm = NormKind::kRms,
          .extra_predictions = 1};
}

inline Transformer BertBase() {
  Transformer model =
      Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 30522, .positions = 512});
  model.blocks[0].block.self.is_causal = false;
  model.token_types = 2;
  model.has_embedding_norm = true;
  model.has_head_transform = true;
  return model;
}

inline Transformer T5Small() {
  const Attention decoder = {.heads = 8, .kv_heads = 8, .head_size = 64, .value_head_size = 64};
  Attention encoder = decoder;
  encoder.is_causal = false;
  const FeedForward mlp = {.width = 2048, .activation = Activation::kRelu};
  const Block up = {.self = encoder, .mlp = mlp, .norm = NormKind::kRms};
  const Block down = {.self = decoder, .cross = encoder, .mlp = mlp, .norm = NormKind::kRms};
  return {.hidden = 512,
          .blocks = {{.block = down, .count = 6}},
          .encoder = {{.block = up, .count = 6}},
          .vocabulary = 32128,
          .relative_positions = 32,
          .is_tied = true,
          .norm = NormKind::kRms};
}

inline Transformer VitBase() {
  Transformer model =
      Gpt({.hidden = 768, .layers = 12, .heads = 12, .vocabulary = 1000, .positions = 197});
  model.blocks[0].block.self.is_causal = false;
  model.is_tied = false;
  model.task = TransformerTask::kClassification;
  model.patch = 16;
  model.image = 224;
  return model;
}

}  // namespace orrery::workload
