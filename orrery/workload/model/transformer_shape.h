#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// The shape of a transformer as papers and configurations state it: few numbers for all
/// layers. Presets, job files, Hugging Face configurations and Megatron arguments fill it; a zero
/// means what its comment says.
struct TransformerShape {
  std::int64_t hidden = 0;
  std::int64_t layers = 0;  // of the decoder, or of an encoder that stands alone
  std::int64_t encoder_layers = 0;
  std::int64_t heads = 0;
  std::int64_t kv_heads = 0;         // 0: heads
  std::int64_t head_size = 0;        // 0: hidden / heads
  std::int64_t value_head_size = 0;  // 0: head_size
  std::int64_t ffn = 0;              // 0: 4 · hidden
  Activation activation = Activation::kGelu;
  bool gated = false;
  bool attention_bias = false;
  bool qkv_bias = false;
  bool ffn_bias = false;
  NormKind norm = NormKind::kLayer;
  bool causal = true;
  bool rope = false;
  bool qk_norm = false;
  std::int64_t window = 0;
  std::vector<bool> window_layers = {};  // those that see only the window; empty: all
  bool parallel = false;

  std::int64_t vocabulary = 0;
  std::int64_t positions = 0;
  std::int64_t token_types = 0;
  std::int64_t relative_positions = 0;
  bool embedding_norm = false;
  bool tied = false;
  bool head_transform = false;
  double dropout = 0;
  double attention_dropout = 0;
  std::int64_t extra_predictions = 0;

  std::int64_t experts = 0;  // 0: no layer has experts
  std::int64_t experts_per_token = 0;
  std::int64_t expert_ffn = 0;  // 0: ffn
  std::int64_t shared_ffn = 0;  // of all shared experts together; 0: none
  bool shared_gate = false;
  std::int64_t dense_layers = 0;  // first ones, without experts
  std::int64_t moe_every = 1;     // of the others, layers i with i % moe_every == moe_offset
  std::int64_t moe_offset = 0;
  std::vector<bool> moe_layers = {};  // those that have experts; empty: as the three above say

  std::int64_t query_rank = 0;
  std::int64_t key_value_rank = 0;  // 0: no latent attention
  std::int64_t rope_size = 0;

  bool classifies = false;
  std::int64_t patch = 0;
  std::int64_t image = 0;
};

/// Builds the model. Fails in one sentence when numbers do not fit each other.
[[nodiscard]] Result<Transformer> MakeTransformer(const TransformerShape& shape);

/// The shape that makes `model`. Fails in one sentence for a model that none makes: layers that
/// differ in more than experts and windows.
[[nodiscard]] Result<TransformerShape> ShapeOfTransformer(const Transformer& model);

/// Reads the fields of a shape, each called like the member; what is absent stays as in `base`.
[[nodiscard]] TransformerShape ReadTransformerShape(YamlFields& fields,
                                                    const TransformerShape& base);

}  // namespace orrery::workload
