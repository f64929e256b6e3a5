#include "orrery/workload/model/hugging_face.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <iterator>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "orrery/base/error.h"
#include "orrery/base/text.h"
#include "orrery/workload/input.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

using Notes = std::vector<std::string>;

/// Reads values of one JSON object under any of several keys. `null` counts as absent. What is
/// wrong is kept, the first thing only, so that a reader is a plain list and asks once at the end.
class JsonConfig {
 public:
  explicit JsonConfig(simdjson::dom::object object) : object_(object) {}

  using Keys = std::initializer_list<std::string_view>;

  [[nodiscard]] std::int64_t Size(Keys keys, std::int64_t fallback) {
    Know(keys);
    for (const std::string_view key : keys) {
      const std::optional<simdjson::dom::element> value = Find({key});
      if (!value) {
        continue;
      }
      std::int64_t size = 0;
      if (value->get(size) || size < 0) {
        Wrong(key, "must be a whole number of at least 0");
      }
      return size;
    }
    return fallback;
  }

  [[nodiscard]] double Number(std::string_view key, double fallback) {
    return Get({key}, fallback, "must be a number");
  }

  [[nodiscard]] bool Flag(std::string_view key, bool fallback) {
    return Get({key}, fallback, "must be true or false");
  }

  [[nodiscard]] std::string Text(Keys keys, std::string_view fallback) {
    return std::string(Get(keys, fallback, "must be a text"));
  }

  [[nodiscard]] std::optional<simdjson::dom::element> Find(Keys keys) {
    Know(keys);
    for (const std::string_view key : keys) {
      simdjson::dom::element value;
      if (!object_.at_key(key).get(value) && !value.is_null()) {
        return value;
      }
    }
    return std::nullopt;
  }

  void Wrong(std::string_view key, std::string_view expectation) {
    if (!first_error_) {
      first_error_.emplace(Error::Kind::kInvalidInput, fmt::format("{} {}", key, expectation));
    }
  }

  /// Members that need not be read.
  void Know(Keys keys) { known_.insert(keys.begin(), keys.end()); }

  /// Calls `visit(key, value)` for each member that nobody asked for.
  template <typename Visit>
  void ForEachUnread(Visit visit) const {
    for (const auto member : object_) {
      if (!known_.contains(member.key)) {
        visit(member.key, member.value);
      }
    }
  }

  [[nodiscard]] const std::optional<Error>& first_error() const { return first_error_; }

 private:
  template <typename Value>
  Value Get(Keys keys, Value value, std::string_view expectation) {
    const std::optional<simdjson::dom::element> found = Find(keys);
    if (found && found->get(value)) {
      Wrong(*keys.begin(), expectation);
    }
    return value;
  }

  simdjson::dom::object object_;
  std::optional<Error> first_error_;
  std::set<std::string, std::less<>> known_;
};

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

void ReadSizes(JsonConfig& config, TransformerShape& shape) {
  shape.hidden = config.Size({"hidden_size", "n_embd", "d_model"}, 0);
  shape.layers = config.Size({"num_hidden_layers", "n_layer", "num_layers"}, 0);
  shape.heads = config.Size({"num_attention_heads", "n_head", "num_heads"}, 0);
  shape.kv_heads = config.Size({"num_key_value_heads"}, 0);
  shape.head_size = config.Size({"head_dim", "d_kv"}, 0);
  shape.ffn = config.Size({"intermediate_size", "n_inner", "ffn_dim", "d_ff"}, 0);
  shape.vocabulary = config.Size({"vocab_size"}, shape.vocabulary);
  shape.tied = config.Flag("tie_word_embeddings", shape.tied);
}

void CheckSizes(JsonConfig& config, const TransformerShape& shape) {
  const std::array<std::pair<std::string_view, std::int64_t>, 4> required{{
      {"hidden_size (or n_embd, d_model)", shape.hidden},
      {"num_hidden_layers (or n_layer, num_layers)", shape.layers},
      {"num_attention_heads (or n_head, num_heads)", shape.heads},
      {"vocab_size", shape.vocabulary},
  }};
  for (const auto& [key, size] : required) {
    if (size < 1) {
      config.Wrong(key, "is missing");
    }
  }
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

// Newer configurations list which layers see only the window.
void ReadLayerTypes(JsonConfig& config, TransformerShape& shape) {
  simdjson::dom::array types;
  const auto value = config.Find({"layer_types"});
  if (!value || value->get(types)) {
    return;
  }
  shape.window_layers.clear();
  for (const simdjson::dom::element element : types) {
    std::string_view type;
    if (element.get(type) || (type != "sliding_attention" && type != "full_attention")) {
      config.Wrong("layer_types", "may hold sliding_attention and full_attention only");
      return;
    }
    shape.window_layers.push_back(type == "sliding_attention");
  }
  if (std::cmp_not_equal(shape.window_layers.size(), shape.layers)) {
    config.Wrong("layer_types", "must have an entry for each layer");
  }
  if (shape.window == 0) {
    shape.window = config.Size({"sliding_window"}, 0);
  }
}

// Parts of names of sizes and patterns, which change what a step costs.
constexpr std::array<std::string_view, 9> kCostlyWords{
    "window", "expert", "chunk", "_layers", "_heads", "_dim", "_size", "_rank", "layer_types"};

bool IsSetToSomething(const simdjson::dom::element& value) {
  std::int64_t number = 0;
  bool flag = false;
  simdjson::dom::array list;
  if (!value.get(number)) {
    return number > 1;
  }
  return (!value.get(flag) && flag) || (!value.get(list) && list.size() > 0);
}

// Nobody read it, and it would change the model.
void NoteUnread(const JsonConfig& config, Notes& notes) {
  config.ForEachUnread([&](std::string_view key, const simdjson::dom::element& value) {
    const bool is_costly = std::ranges::any_of(
        kCostlyWords, [&](std::string_view word) { return Contains(key, word); });
    if (is_costly && IsSetToSomething(value)) {
      notes.push_back(fmt::format("{} {} is not modelled", key, simdjson::minify(value)));
    }
  });
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
  // What the steps give.
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

struct Reader {
  std::string_view model_type;
  std::string_view family;  // of the catalogue of models: what its layers have in common
  void (*read)(JsonConfig&, TransformerShape&, Notes&);
};

constexpr std::array<Reader, 18> kReaders{{
    {"bert", "bert", ReadBert},
    {"deepseek_v2", "llama", ReadDeepseek},
    {"deepseek_v3", "llama", ReadDeepseek},
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

Result<HuggingFaceModel> ReadHuggingFace(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::object object;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(object)) {
    return Refuse("not a JSON object: {}", simdjson::error_message(error));
  }
  JsonConfig config(object);
  const std::string type = config.Text({"model_type"}, "");
  const auto* const reader = std::ranges::find(kReaders, type, &Reader::model_type);
  if (reader == kReaders.end()) {
    std::vector<std::string_view> types;
    std::ranges::transform(kReaders, std::back_inserter(types), &Reader::model_type);
    return Unsupported("model_type '{}' is not supported: supported are {}", type,
                       fmt::join(types, ", "));
  }
  ORRERY_TRY(const Family* const family, FindFamily(reader->family));
  HuggingFaceModel model = {
      .name = config.Text({"_name_or_path"}, ""),
      .shape = family->shape,
      .max_positions = config.Size({"max_position_embeddings", "n_positions", "n_ctx"}, 0)};
  ReadSizes(config, model.shape);
  reader->read(config, model.shape, model.not_modelled);
  ReadLayerTypes(config, model.shape);
  NoteUnread(config, model.not_modelled);
  CheckSizes(config, model.shape);
  if (config.first_error()) {
    return tl::unexpected(*config.first_error());
  }
  return model;
}

}  // namespace orrery::workload
