#include "orrery/workload/model/presets.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <iterator>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/data_type.h"
#include "orrery/base/document/yaml_fields.h"
#include "orrery/base/error.h"
#include "orrery/base/file/mapped_file.h"
#include "orrery/base/text/nearest_word.h"
#include "orrery/base/text/text.h"
#include "orrery/kernel/operator.h"
#include "orrery/kernel/work.h"
#include "orrery/workload/embedded_models.h"
#include "orrery/workload/input.h"
#include "orrery/workload/model/convolutional.h"
#include "orrery/workload/model/dlrm.h"
#include "orrery/workload/model/hugging_face.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {
namespace {

// A name without case and separators; a decimal point stays.
std::string Bare(std::string_view name) {
  std::string bare;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_point = name[i] == '.' && i > 0 && i + 1 < name.size() && IsDigit(name[i - 1]) &&
                          IsDigit(name[i + 1]);
    const char lower = LowerCase(name[i]);
    if ((lower >= 'a' && lower <= 'z') || IsDigit(lower) || is_point) {
      bare += lower;
    }
  }
  return bare;
}

const Family* FamilyNamed(std::string_view name, const std::vector<Family>& families) {
  const auto found = std::ranges::find_if(
      families, [name](const Family& family) { return SameIgnoringCase(family.name, name); });
  return found == families.end() ? nullptr : &*found;
}

TransformerShape ReadShapeOfFamily(YamlFields& fields, const std::vector<Family>& families) {
  const std::string name = fields.Text("family");
  const Family* const base = FamilyNamed(name, families);
  if (base == nullptr) {
    fields.Wrong("family", "must be one of the catalogue's", name);
    return {};
  }
  return ReadTransformerShape(fields, base->shape);
}

Preset ReadPreset(YamlFields& fields, const std::vector<Family>& families) {
  Preset preset;
  preset.name = fields.Text("name");
  preset.also = fields.Texts("also", std::vector<std::string>{});
  preset.source = fields.Text("source");
  if (fields.Has("convolutional")) {
    preset.facts = ConvolutionalName{fields.Text("convolutional")};
  } else if (fields.Has("dlrm")) {
    YamlFields dlrm = fields.Map("dlrm");
    preset.facts = ReadDlrm(dlrm, {});
  } else {
    preset.facts = ReadShapeOfFamily(fields, families);
  }
  fields.RefuseOthers();
  return preset;
}

std::vector<Family> ReadFamilies(YamlFields& top, std::optional<Error>& first_error) {
  std::vector<Family> families;
  const YAML::Node node = top.Node("families");
  for (const auto& entry : node) {
    const std::string name = entry.first.Scalar();
    YamlFields fields(entry.second, fmt::format("family '{}'", name), first_error);
    families.push_back({.name = name, .shape = ReadTransformerShape(fields, {})});
    fields.RefuseOthers();
  }
  return families;
}

Result<PresetCatalogue> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "catalogue of models", first_error);
  PresetCatalogue catalogue;
  catalogue.families = ReadFamilies(top, first_error);
  const YAML::Node models = top.Node("models");
  for (std::size_t i = 0; models.IsSequence() && i < models.size() && !first_error; ++i) {
    YamlFields fields(models[i], EntryPlace("model", models[i], i), first_error);
    catalogue.models.push_back(ReadPreset(fields, catalogue.families));
  }
  if (!first_error && catalogue.models.empty()) {
    top.Wrong("models", "must be a list of models", "something else");
  }
  if (first_error) {
    return tl::unexpected(*std::move(first_error));
  }
  return catalogue;
}

std::vector<std::string_view> NamesOf(const Preset& preset) {
  std::vector<std::string_view> names = {preset.name};
  names.insert(names.end(), preset.also.begin(), preset.also.end());
  return names;
}

constexpr double kMostBytes = 1e16;

class ModelReader {
 public:
  ModelReader(const YAML::Node& node, const ModelPlace& place,
              std::vector<std::string>& not_modelled)
      : place_(place), not_modelled_(not_modelled), fields_(node, place.place, first_error_) {
    fields_.Expect({"preset", "hugging_face", "dlrm", "family", "name"});
  }

  Result<Model> Read() && {
    Result<Model> model = ReadKind();
    if (first_error_) {
      return tl::unexpected(*first_error_);
    }
    if (!model) {
      return FailWithin(place_.place, model);
    }
    model->name = fields_.Text("name", model->name);
    return model;
  }

 private:
  Result<Model> ReadKind() {
    if (fields_.Has("preset")) {
      return FromPreset(fields_.Text("preset"));
    }
    if (fields_.Has("hugging_face")) {
      return FromHuggingFace(fields_.Text("hugging_face"));
    }
    if (fields_.Has("dlrm")) {
      YamlFields dlrm = fields_.Map("dlrm");
      Model model = {.name = "dlrm", .body = ReadDlrm(dlrm, {})};
      fields_.RefuseOthers();
      return model;
    }
    if (fields_.Has("layers") && fields_.Node("layers").IsSequence()) {
      return FromLayers(fields_.Node("layers"));
    }
    return FromFamily();
  }

  Result<Model> FromShape(std::string name, const TransformerShape& base) {
    const TransformerShape shape = ReadTransformerShape(fields_, base);
    fields_.RefuseOthers();
    if (first_error_) {
      return tl::unexpected(*first_error_);
    }
    ORRERY_TRY(Transformer transformer, MakeTransformer(shape));
    return Model{.name = std::move(name), .body = std::move(transformer)};
  }

  Result<Model> FromPreset(const std::string& name) {
    ORRERY_TRY(const Preset* const preset, FindPreset(name));
    if (const auto* const shape = std::get_if<TransformerShape>(&preset->facts)) {
      return FromShape(preset->name, *shape);
    }
    if (const auto* const dlrm = std::get_if<Dlrm>(&preset->facts)) {
      return Model{.name = preset->name, .body = ReadDlrm(fields_, *dlrm)};
    }
    fields_.RefuseOthers();
    return ModelOf(*preset, place_.type);
  }

  Result<Model> FromHuggingFace(const std::string& file) {
    ORRERY_TRY(const MappedFile content, MappedFile::Open((place_.folder / file).string()));
    const auto read = ReadHuggingFace(content.bytes());
    if (!read) {
      return FailWithin(file, read);
    }
    not_modelled_.insert(not_modelled_.end(), read->not_modelled.begin(), read->not_modelled.end());
    return FromShape(NameOfConfiguration(*read, file), read->shape);
  }

  Result<Model> FromFamily() {
    if (!fields_.Has("family")) {
      return FromShape("", {});
    }
    ORRERY_TRY(const Family* const family, FindFamily(fields_.Text("family")));
    return FromShape(family->name, family->shape);
  }

  Result<Model> FromLayers(const YAML::Node& nodes) {
    LayerList list;
    for (std::size_t i = 0; i < nodes.size(); ++i) {
      ORRERY_TRY(ListedLayer layer, ReadLayer(nodes[i], i));
      list.layers.push_back(std::move(layer));
    }
    if (list.layers.empty()) {
      fields_.Wrong("layers", "must have a layer", "an empty list");
    }
    fields_.RefuseOthers();
    return Model{.name = "", .body = std::move(list)};
  }

  Result<ListedLayer> ReadLayer(const YAML::Node& node, std::size_t index) {
    const std::string place = fmt::format("layers {}", index + 1);
    if (node.IsScalar()) {
      ORRERY_TRY(const kernel::Operator op, ReadOperator(node.Scalar(), place));
      return LayerOf(op);
    }
    YamlFields fields(node, fmt::format("{}: {}", place_.place, place), first_error_);
    ListedLayer layer;
    layer.name = fields.Text("name", place);
    ORRERY_TRY(layer.forward, ReadOperators(fields.Texts("forward"), place));
    ORRERY_TRY(layer.backward, ReadOperators(fields.Texts("backward"), place));
    layer.parameters = fields.Sizes("parameters", 0, std::vector<std::int64_t>{});
    layer.output_elements = fields.Size("output", 0);
    fields.RefuseOthers();
    return layer;
  }

  static Result<kernel::Operator> ReadOperator(const std::string& text, const std::string& place) {
    const auto op = kernel::ParseOperator(text);
    if (!op) {
      return FailWithin(place, op);
    }
    if (const kernel::Work work = kernel::WorkOf(*op); work.Bytes() > kMostBytes) {
      return Fail(Error::Kind::kLimit,
                  fmt::format("{}: '{}' moves more than {:g} bytes", place, text, kMostBytes));
    }
    return *op;
  }

  static Result<std::vector<kernel::Operator>> ReadOperators(const std::vector<std::string>& texts,
                                                             const std::string& place) {
    std::vector<kernel::Operator> operators;
    for (const std::string& text : texts) {
      ORRERY_TRY(const kernel::Operator op, ReadOperator(text, place));
      operators.push_back(op);
    }
    return operators;
  }

  const ModelPlace& place_;
  std::vector<std::string>& not_modelled_;
  std::optional<Error> first_error_;
  YamlFields fields_;
};

}  // namespace

Result<PresetCatalogue> ReadPresets(const std::string& yaml) {
  return WithYaml("catalogue of models", yaml, ReadAll);
}

const PresetCatalogue& Presets() {
  static const PresetCatalogue catalogue = [] {
    Result<PresetCatalogue> read = ReadPresets(kEmbeddedModels);
    ORRERY_CHECK(read.has_value(), read.has_value() ? "" : read.error().message());
    return *std::move(read);
  }();
  return catalogue;
}

Result<const Preset*> FindPreset(std::string_view name) {
  const std::string bare = Bare(name);
  std::vector<std::string_view> names;
  for (const Preset& preset : Presets().models) {
    for (const std::string_view known : NamesOf(preset)) {
      if (Bare(known) == bare) {
        return &preset;
      }
      names.push_back(known);
    }
  }
  return Fail(Error::Kind::kNotFound, fmt::format("'{}' is not a known model; the nearest is {}",
                                                  name, NearestWord(name, names)));
}

const Preset* FindPresetWithin(std::string_view text) {
  const std::string bare = Bare(text);
  const Preset* found = nullptr;
  std::size_t length = 0;
  for (const Preset& preset : Presets().models) {
    for (const std::string_view name : NamesOf(preset)) {
      const std::string word = Bare(name);
      if (word.size() > length && bare.find(word) != std::string::npos) {
        found = &preset;
        length = word.size();
      }
    }
  }
  return found;
}

Result<const Family*> FindFamily(std::string_view name) {
  if (const Family* const family = FamilyNamed(name, Presets().families)) {
    return family;
  }
  std::vector<std::string_view> names;
  std::ranges::transform(Presets().families, std::back_inserter(names), &Family::name);
  return Fail(Error::Kind::kNotFound, fmt::format("'{}' is not a known family: choose one of {}",
                                                  name, fmt::join(names, ", ")));
}

Result<Model> ModelOf(const Preset& preset, DataType type) {
  Model model = {.name = preset.name};
  if (const auto* const shape = std::get_if<TransformerShape>(&preset.facts)) {
    ORRERY_TRY(model.body, MakeTransformer(*shape));
  } else if (const auto* const network = std::get_if<ConvolutionalName>(&preset.facts)) {
    ORRERY_TRY(model.body, ConvolutionalNetwork(network->name, type));
  } else {
    model.body = std::get<Dlrm>(preset.facts);
  }
  return model;
}

Result<Model> ReadModel(const YAML::Node& node, const ModelPlace& place,
                        std::vector<std::string>& not_modelled) {
  if (!node.IsScalar()) {
    return ModelReader(node, place, not_modelled).Read();
  }
  YAML::Node map;
  map["preset"] = node.Scalar();
  return ModelReader(map, place, not_modelled).Read();
}

}  // namespace orrery::workload
