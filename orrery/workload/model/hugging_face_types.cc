#include "orrery/workload/model/hugging_face_types.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <simdjson.h>

#include "orrery/workload/model/json_config.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

using Notes = std::vector<std::string>;

void ReadActivation(std::string_view name, JsonConfig& config, TransformerShape& shape) {
  constexpr std::array<std::pair<std::string_view, Activation>, 10> kActivations{{
      {"gelu", Activation::kGelu},
      {"gelu_new", Activation::kWrittenOutGelu},
      {"gelu_fast", Activation::kGelu},
      {"gelu_pytorch_tanh", Activation::kGelu},
      {"quick_gelu", Activation::kGelu},
      {"relu", Activation::kRelu},
      {"relu2", Activation::kSquaredRelu},
      {"silu", Activation::kSilu},
      {"swish", Activation::kSilu},
      {"swiglu", Activation::kSilu},
  }};
  const auto* const found = std::ranges::find_if(
      kActivations, [&](const auto& activation) { return activation.first == name; });
  if (found == kActivations.end()) {
    config.Wrong("hidden_act", fmt::format("'{}' is not a known activation", name));
    return;
  }
  shape.activation = found->second;
}

void ReadHiddenActivation(JsonConfig& config, std::string_view usual, TransformerShape& shape) {
  ReadActivation(config.Text({"hidden_act", "activation_function"}, usual), config, shape);
}

void ReadGpt2(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.positions = config.Size({"n_positions", "n_ctx"}, 1024);
  shape.dropout = config.Number("resid_pdrop", shape.dropout);
  shape.attention_dropout = config.Number("attn_pdrop", shape.attention_dropout);
  ReadHiddenActivation(config, "gelu_new", shape);
}

void ReadNeox(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.parallel = config.Flag("use_parallel_residual", true);
  shape.attention_bias = config.Flag("attention_bias", true);
  shape.dropout = config.Number("hidden_dropout", 0);
  shape.attention_dropout = config.Number("attention_dropout", 0);
  ReadHiddenActivation(config, "gelu", shape);
}

void ReadOpt(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  // Two rows stand before the first position.
  shape.positions = config.Size({"max_position_embeddings"}, 2048) + 2;
  shape.dropout = config.Number("dropout", shape.dropout);
  shape.attention_dropout = config.Number("attention_dropout", 0);
  shape.attention_bias = config.Flag("enable_bias", true);
  shape.ffn_bias = shape.attention_bias;
  ReadHiddenActivation(config, "relu", shape);
  const std::int64_t width = config.Size({"word_embed_proj_dim"}, shape.hidden);
  if (width != shape.hidden) {
    notes.push_back(
        fmt::format("word_embed_proj_dim {}: embeddings are taken as wide as hidden_size {}", width,
                    shape.hidden));
  }
  if (!config.Flag("do_layer_norm_before", true)) {
    notes.emplace_back("do_layer_norm_before false: norms are taken to stand before layers");
  }
}

void ReadLlama(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.attention_bias = config.Flag("attention_bias", false);
  shape.ffn_bias = config.Flag("mlp_bias", false);
  shape.attention_dropout = config.Number("attention_dropout", 0);
  ReadHiddenActivation(config, "silu", shape);
}

void ReadGemma(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.attention_bias = config.Flag("attention_bias", false);
  shape.attention_dropout = config.Number("attention_dropout", 0);
  // Configurations of the first releases say `hidden_act: gelu` and mean its approximation.
  ReadActivation(config.Text({"hidden_activation", "hidden_act"}, "gelu_pytorch_tanh"), config,
                 shape);
}

// Of `period` layers all but one see only the window: the last, in Gemma 2 of two, in Gemma 3 of
// six.
void ReadGemma2(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadGemma(config, shape, notes);
  shape.window = config.Size({"sliding_window"}, 4096);
  const std::int64_t period =
      std::max<std::int64_t>(config.Size({"sliding_window_pattern"}, shape.qk_norm ? 6 : 2), 1);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    shape.window_layers.push_back((layer + 1) % period != 0);
  }
  notes.emplace_back(
      "the norms after attention and after the feed-forward network are not modelled");
  if (config.Find({"attn_logit_softcapping"}) || config.Find({"final_logit_softcapping"})) {
    notes.emplace_back("the soft limit of logits is not modelled");
  }
}

void ReadMistral(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadLlama(config, shape, notes);
  shape.window = config.Size({"sliding_window"}, 0);
}

// Layers from `max_window_layers` on see only the window.
void ReadQwen(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.attention_dropout = config.Number("attention_dropout", 0);
  shape.attention_bias = config.Flag("attention_bias", false);
  ReadHiddenActivation(config, "silu", shape);
  const std::int64_t window = config.Size({"sliding_window"}, 4096);
  const std::int64_t first = config.Size({"max_window_layers"}, 28);
  if (config.Flag("use_sliding_window", false)) {
    shape.window = window;
    for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
      shape.window_layers.push_back(layer >= first);
    }
  }
}

void ReadMixtral(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadMistral(config, shape, notes);
  shape.experts = config.Size({"num_local_experts"}, 8);
  shape.experts_per_token = config.Size({"num_experts_per_tok"}, 2);
}

void ReadGptOss(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadMixtral(config, shape, notes);
  shape.attention_bias = config.Flag("attention_bias", true);
  shape.ffn_bias = true;
  shape.experts_per_token = config.Size({"num_experts_per_tok", "experts_per_token"}, 4);
  for (std::int64_t layer = 0; layer < shape.layers; ++layer) {
    shape.window_layers.push_back(layer % 2 == 0);
  }
}

// `mlp_only_layers` names layers without experts beyond those that the step leaves out.
void ReadDenseLayers(JsonConfig& config, TransformerShape& shape) {
  simdjson::dom::array named;
  const auto value = config.Find({"mlp_only_layers"});
  if (!value || value->get(named) || named.size() == 0) {
    return;
  }
  shape.moe_layers.assign(static_cast<std::size_t>(shape.layers), true);
  for (std::size_t layer = 0; layer < shape.moe_layers.size(); ++layer) {
    shape.moe_layers[layer] =
        static_cast<std::int64_t>(layer) % shape.moe_every == shape.moe_offset;
  }
  for (const simdjson::dom::element element : named) {
    std::uint64_t layer = 0;
    if (element.get(layer) || layer >= shape.moe_layers.size()) {
      config.Wrong("mlp_only_layers", "must be a list of layers of the model");
      return;
    }
    shape.moe_layers[layer] = false;
  }
}

void ReadQwenMoe(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadQwen(config, shape, notes);
  shape.experts = config.Size({"num_experts"}, 0);
  shape.experts_per_token = config.Size({"num_experts_per_tok"}, 0);
  shape.expert_ffn = config.Size({"moe_intermediate_size"}, 0);
  shape.shared_ffn = config.Size({"shared_expert_intermediate_size"}, 0);
  shape.shared_gate = shape.shared_ffn > 0;
  shape.moe_every = std::max<std::int64_t>(config.Size({"decoder_sparse_step"}, 1), 1);
  shape.moe_offset = shape.moe_every - 1;
  ReadDenseLayers(config, shape);
}

void ReadDeepseek(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadLlama(config, shape, notes);
  shape.kv_heads = shape.heads;
  shape.query_rank = config.Size({"q_lora_rank"}, 0);
  shape.key_value_rank = config.Size({"kv_lora_rank"}, 512);
  shape.rope_size = config.Size({"qk_rope_head_dim"}, 64);
  shape.head_size = config.Size({"qk_nope_head_dim"}, 128);
  shape.value_head_size = config.Size({"v_head_dim"}, 128);
  shape.experts = config.Size({"n_routed_experts"}, 0);
  shape.experts_per_token = config.Size({"num_experts_per_tok"}, 0);
  shape.expert_ffn = config.Size({"moe_intermediate_size"}, 0);
  shape.shared_ffn = config.Size({"n_shared_experts"}, 0) * shape.expert_ffn;
  shape.dense_layers = config.Size({"first_k_dense_replace"}, 0);
  shape.moe_every = std::max<std::int64_t>(config.Size({"moe_layer_freq"}, 1), 1);
  shape.extra_predictions = config.Size({"num_nextn_predict_layers"}, 0);
}

void ReadBert(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.positions = config.Size({"max_position_embeddings"}, 512);
  shape.token_types = config.Size({"type_vocab_size"}, 2);
  shape.causal = config.Flag("is_decoder", false);
  shape.dropout = config.Number("hidden_dropout_prob", shape.dropout);
  shape.attention_dropout = config.Number("attention_probs_dropout_prob", shape.attention_dropout);
  ReadHiddenActivation(config, "gelu", shape);
}

void ReadT5(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  shape.encoder_layers = shape.layers;
  shape.layers = config.Size({"num_decoder_layers"}, shape.layers);
  shape.head_size = shape.head_size > 0 ? shape.head_size : 64;
  shape.relative_positions = config.Size({"relative_attention_num_buckets"}, 32);
  shape.dropout = config.Number("dropout_rate", shape.dropout);
  shape.attention_dropout = shape.dropout;
  const std::string projection = config.Text({"feed_forward_proj"}, "relu");
  const std::string_view gated = "gated-";
  shape.gated = projection.starts_with(gated);
  ReadActivation(shape.gated ? projection.substr(gated.size()) : projection, config, shape);
}

// Layers 1, 1 + step, … have experts; all of them where the step is 1. Each token goes to one.
void ReadSwitch(JsonConfig& config, TransformerShape& shape, Notes& notes) {
  ReadT5(config, shape, notes);
  shape.experts = config.Size({"num_experts"}, 8);
  shape.experts_per_token = 1;
  shape.moe_every = std::max<std::int64_t>(config.Size({"decoder_sparse_step"}, 2), 1);
  shape.moe_offset = shape.moe_every > 1 ? 1 : 0;
  // The steps imply these.
  config.Know({"num_sparse_encoder_layers", "num_sparse_decoder_layers"});
  if (config.Size({"encoder_sparse_step"}, shape.moe_every) != shape.moe_every) {
    notes.emplace_back("encoder_sparse_step: the encoder is taken to be as the decoder");
  }
}

void ReadVit(JsonConfig& config, TransformerShape& shape, Notes& /*notes*/) {
  constexpr std::int64_t kImagenetClasses = 1000;
  shape.image = config.Size({"image_size"}, 224);
  shape.patch = config.Size({"patch_size"}, 16);
  simdjson::dom::object labels;
  const auto value = config.Find({"id2label"});
  const bool has_labels = value && !value->get(labels);
  shape.vocabulary = has_labels ? static_cast<std::int64_t>(labels.size())
                                : config.Size({"num_labels"}, kImagenetClasses);
  shape.attention_bias = true;
  shape.dropout = config.Number("hidden_dropout_prob", 0);
  shape.attention_dropout = config.Number("attention_probs_dropout_prob", 0);
  ReadHiddenActivation(config, "gelu", shape);
}

constexpr std::array<HuggingFaceType, 21> kTypes{{
    {"bert", "bert", ReadBert},
    {"deepseek_v2", "llama", ReadDeepseek},
    {"deepseek_v3", "llama", ReadDeepseek},
    {"gemma", "gemma", ReadGemma},
    {"gemma2", "gemma", ReadGemma2},
    {"gemma3_text", "gemma3", ReadGemma2},
    {"gpt2", "gpt2", ReadGpt2},
    {"gpt_neox", "neox", ReadNeox},
    {"gpt_oss", "llama", ReadGptOss},
    {"kimi_k2", "llama", ReadDeepseek},
    {"llama", "llama", ReadLlama},
    {"mistral", "llama", ReadMistral},
    {"mixtral", "llama", ReadMixtral},
    {"opt", "opt", ReadOpt},
    {"qwen2", "qwen2", ReadQwen},
    {"qwen2_moe", "qwen2", ReadQwenMoe},
    {"qwen3", "qwen3", ReadQwen},
    {"qwen3_moe", "qwen3", ReadQwenMoe},
    {"switch_transformers", "t5", ReadSwitch},
    {"t5", "t5", ReadT5},
    {"vit", "vit", ReadVit},
}};

}  // namespace

std::span<const HuggingFaceType> HuggingFaceTypes() {
  return kTypes;
}

}  // namespace orrery::workload
