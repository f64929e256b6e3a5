#include "orrery/workload/model/hugging_face.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <simdjson.h>

#include "orrery/base/error.h"
#include "orrery/base/text/text.h"
#include "orrery/workload/input.h"
#include "orrery/workload/model/hugging_face_types.h"
#include "orrery/workload/model/json_config.h"
#include "orrery/workload/model/presets.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

using Notes = std::vector<std::string>;

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

// Notes keys that were not read and would change the model.
void NoteUnread(const JsonConfig& config, Notes& notes) {
  config.ForEachUnread([&](std::string_view key, const simdjson::dom::element& value) {
    const bool is_costly = std::ranges::any_of(
        kCostlyWords, [&](std::string_view word) { return Contains(key, word); });
    if (is_costly && IsSetToSomething(value)) {
      notes.push_back(fmt::format("{} {} is not modelled", key, simdjson::minify(value)));
    }
  });
}

const HuggingFaceType* FindType(std::string_view model_type) {
  const auto found =
      std::ranges::find(HuggingFaceTypes(), model_type, &HuggingFaceType::model_type);
  return found == HuggingFaceTypes().end() ? nullptr : &*found;
}

std::string WithoutUnderscores(std::string_view text) {
  std::string bare = LowerCase(text);
  std::erase(bare, '_');
  return bare;
}

// "LlamaForCausalLM" and "GPT2LMHeadModel" begin with a type; the longest one that fits is meant.
std::string_view TypeOfArchitecture(std::string_view architecture) {
  const std::string bare = WithoutUnderscores(architecture);
  std::string_view longest;
  for (const HuggingFaceType& known : HuggingFaceTypes()) {
    if (bare.starts_with(WithoutUnderscores(known.model_type)) &&
        known.model_type.size() > longest.size()) {
      longest = known.model_type;
    }
  }
  return longest;
}

std::string_view FirstArchitecture(JsonConfig& config) {
  const auto value = config.Find({"architectures"});
  simdjson::dom::array names;
  std::string_view name;
  if (value && !value->get(names) && names.size() > 0) {
    std::ignore = names.at(0).get(name);
  }
  return name;
}

tl::unexpected<Error> RefuseType(std::string_view type, std::string_view architecture) {
  std::vector<std::string_view> types;
  std::ranges::transform(HuggingFaceTypes(), std::back_inserter(types),
                         &HuggingFaceType::model_type);
  const std::string missing = !type.empty() ? fmt::format("model_type '{}' is not supported", type)
                              : !architecture.empty()
                                  ? fmt::format(
                                        "model_type is missing, and architectures names '{}', "
                                        "which is not supported",
                                        architecture)
                                  : "model_type is missing, and so is architectures";
  return Unsupported(
      "{}: supported are {}; another transformer is described in a job by its sizes, as in "
      "model: {{family: llama, hidden: 4096, layers: 32, heads: 32, vocabulary: 32000}}",
      missing, fmt::join(types, ", "));
}

Result<HuggingFaceModel> ReadObject(simdjson::dom::object object) {
  JsonConfig config(object);
  std::string type = config.Text({"model_type"}, "");
  const std::string_view architecture = FirstArchitecture(config);
  if (type.empty()) {
    type = TypeOfArchitecture(architecture);
  }
  const HuggingFaceType* const known = FindType(type);
  if (known == nullptr) {
    return RefuseType(type, architecture);
  }
  ORRERY_TRY(const Family* const family, FindFamily(known->family));
  HuggingFaceModel model = {
      .name = config.Text({"_name_or_path"}, ""),
      .model_type = std::string(type),
      .shape = family->shape,
      .max_positions = config.Size({"max_position_embeddings", "n_positions", "n_ctx"}, 0)};
  ReadSizes(config, model.shape);
  known->read(config, model.shape, model.not_modelled);
  ReadLayerTypes(config, model.shape);
  NoteUnread(config, model.not_modelled);
  CheckSizes(config, model.shape);
  if (config.first_error()) {
    return tl::unexpected(*config.first_error());
  }
  return model;
}

// The object itself, or the language model of a model that also sees or hears.
Result<HuggingFaceModel> ReadLanguageModel(simdjson::dom::object object) {
  simdjson::dom::object text;
  std::string_view type;
  std::ignore = object["model_type"].get(type);
  if (FindType(type) != nullptr || object["text_config"].get(text)) {
    return ReadObject(object);
  }
  auto model = ReadObject(text);
  if (!model) {
    return FailWithin("text_config", model);
  }
  model->not_modelled.push_back(
      fmt::format("of '{}' the language model (text_config) alone is modelled", type));
  return model;
}

std::string LastName(const std::filesystem::path& path) {
  // "models/llama/" ends in an empty name.
  const auto name = (path.has_filename() ? path : path.parent_path()).filename().string();
  return name == "." || name == ".." ? "" : name;
}

}  // namespace

Result<HuggingFaceModel> ReadHuggingFace(std::string_view json) {
  simdjson::dom::parser parser;
  simdjson::dom::element element;
  simdjson::dom::object object;
  const simdjson::padded_string padded(json);
  if (const auto error = parser.parse(padded).get(element)) {
    return Refuse("not a JSON object: {}", simdjson::error_message(error));
  }
  if (element.get(object)) {
    return Refuse("not a JSON object: it does not begin with {{");
  }
  return ReadLanguageModel(object);
}

std::string NameOfConfiguration(const HuggingFaceModel& model, const std::filesystem::path& file) {
  const std::string stem = file.stem().string();
  for (const std::string& name :
       {LastName(model.name), stem == "config" ? LastName(file.parent_path()) : stem}) {
    if (!name.empty()) {
      return name;
    }
  }
  return model.model_type;
}

}  // namespace orrery::workload
