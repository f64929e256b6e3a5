#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/workload/emit/megatron_command.h"
#include "orrery/workload/emit/setting_list.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

// "([0]*3+[1]*58)", as Python reads it.
std::string PatternText(const std::vector<bool>& layers) {
  std::string text;
  for (std::size_t begin = 0; begin < layers.size();) {
    std::size_t end = begin;
    while (end < layers.size() && layers[end] == layers[begin]) {
      ++end;
    }
    text += fmt::format("{}[{}]*{}", begin == 0 ? "" : "+", layers[begin] ? 1 : 0, end - begin);
    begin = end;
  }
  return fmt::format("({})", text);
}

// n where each n-th layer, counted from 1, sees the whole sequence and the others do not; else 0.
std::size_t FullAttentionEvery(const std::vector<bool>& window_layers) {
  std::size_t every = 0;
  for (std::size_t layer = 1; layer <= window_layers.size(); ++layer) {
    const bool is_full = !window_layers[layer - 1];
    every = every == 0 && is_full ? layer : every;
    if (every > 0 && is_full != (layer % every == 0)) {
      return 0;
    }
  }
  return every;
}

void AddHeads(const TransformerShape& shape, SettingList& list) {
  list.Add("num-attention-heads", shape.heads);
  if (shape.key_value_rank > 0) {
    list.Switch("multi-latent-attention");
    if (shape.query_rank > 0) {
      list.Add("q-lora-rank", shape.query_rank);
    }
    list.Add("kv-lora-rank", shape.key_value_rank);
    list.Add("qk-head-dim", shape.head_size);
    list.Add("qk-pos-emb-head-dim", shape.rope_size);
    list.Add("v-head-dim", shape.value_head_size);
    if (shape.rope_size == 0 || shape.kv_heads != shape.heads) {
      list.Miss("model: latent attention has turned positions and no groups of heads there");
    }
    return;
  }
  if (shape.head_size * shape.heads != shape.hidden) {
    list.Add("kv-channels", shape.head_size);
  }
  if (shape.kv_heads != shape.heads) {
    list.Switch("group-query-attention");
    list.Add("num-query-groups", shape.kv_heads);
  }
  if (shape.value_head_size != shape.head_size) {
    list.Miss("model.value_head_size {} differs from head_size without latent attention",
              shape.value_head_size);
  }
}

void AddActivation(const TransformerShape& shape, SettingList& list) {
  if (shape.activation == Activation::kSilu && shape.gated) {
    list.Switch("swiglu");
  } else if (shape.activation == Activation::kSquaredRelu && !shape.gated) {
    list.Switch("squared-relu");
  } else if (shape.activation != Activation::kGelu || shape.gated) {
    list.Miss("model.activation: GELU, SwiGLU and squared ReLU are the choices there");
  }
}

void AddBiases(const TransformerShape& shape, SettingList& list) {
  if (shape.attention_bias != shape.ffn_bias) {
    list.Miss("model.attention_bias and ffn_bias differ, and one switch sets both there");
  }
  list.Switch("disable-bias-linear", !shape.attention_bias);
  list.Switch("add-qkv-bias", shape.qkv_bias);
}

void AddWindows(const TransformerShape& shape, SettingList& list) {
  if (shape.window == 0) {
    return;
  }
  list.Add("window-size", fmt::format("{},0", shape.window));
  if (const std::size_t every = FullAttentionEvery(shape.window_layers); every > 0) {
    list.Add("window-attn-skip-freq", every);
  } else if (!shape.window_layers.empty()) {
    list.Add("window-attn-skip-freq", PatternText(shape.window_layers));
  }
}

void AddEnds(const TransformerShape& shape, SettingList& list) {
  list.Add("position-embedding-type", shape.rope            ? "rope"
                                      : shape.positions > 0 ? "learned_absolute"
                                                            : "none");
  if (shape.rope && shape.positions > 0) {
    list.Miss("model.positions {} beside turned positions", shape.positions);
  }
  list.Switch("untie-embeddings-and-output-weights", !shape.tied);
  list.Add("vocab-size", shape.vocabulary);
  list.Add("hidden-dropout", fmt::format("{:#}", shape.dropout));
  list.Add("attention-dropout", fmt::format("{:#}", shape.attention_dropout));
  if (shape.extra_predictions > 0) {
    list.Add("mtp-num-layers", shape.extra_predictions);
  }
  for (const auto& [key, is_there] : {std::pair("parallel", shape.parallel),
                                      {"relative_positions", shape.relative_positions > 0},
                                      {"token_types", shape.token_types > 0},
                                      {"embedding_norm", shape.embedding_norm},
                                      {"head_transform", shape.head_transform}}) {
    if (is_there) {
      list.Miss("model.{} has no argument in pretrain_gpt.py", key);
    }
  }
}

void AddExperts(const TransformerShape& shape, SettingList& list) {
  if (shape.experts == 0) {
    return;
  }
  list.Add("num-experts", shape.experts);
  list.Add("moe-router-topk", shape.experts_per_token);
  list.Add("moe-ffn-hidden-size", shape.expert_ffn);
  if (!shape.moe_layers.empty()) {
    list.Add("moe-layer-freq", PatternText(shape.moe_layers));
  }
  if (shape.shared_ffn > 0) {
    list.Add("moe-shared-expert-intermediate-size", shape.shared_ffn);
    list.Switch("moe-shared-expert-gate", shape.shared_gate);
  }
}

}  // namespace

void AddMegatronModel(const TransformerShape& shape, SettingList& list) {
  list.Add("num-layers", shape.layers);
  list.Add("hidden-size", shape.hidden);
  list.Add("ffn-hidden-size", shape.ffn);
  AddHeads(shape, list);
  AddActivation(shape, list);
  list.Add("normalization", shape.norm == NormKind::kRms ? "RMSNorm" : "LayerNorm");
  list.Switch("qk-layernorm", shape.qk_norm);
  AddBiases(shape, list);
  AddWindows(shape, list);
  AddEnds(shape, list);
  AddExperts(shape, list);
}

}  // namespace orrery::workload
