#include "orrery/workload/model/presets.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <yaml-cpp/yaml.h>

#include "orrery/base/check.h"
#include "orrery/base/nearest_word.h"
#include "orrery/base/text.h"
#include "orrery/base/yaml_fields.h"
#include "orrery/workload/embedded_models.h"
#include "orrery/workload/model/convolutional.h"
#include "orrery/workload/model/dlrm.h"

namespace orrery::workload {
namespace {

bool IsLetter(char c) {
  const char lower = LowerCase(c);
  return lower >= 'a' && lower <= 'z';
}

// What is left of a name when case and separators do not count; a decimal point does.
std::string Bare(std::string_view name) {
  std::string bare;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool is_point = name[i] == '.' && i > 0 && i + 1 < name.size() && IsDigit(name[i - 1]) &&
                          IsDigit(name[i + 1]);
    if (IsLetter(name[i]) || IsDigit(name[i]) || is_point) {
      bare += LowerCase(name[i]);
    }
  }
  return bare;
}

bool IsNamed(const Preset& preset, std::string_view bare) {
  return Bare(preset.name) == bare ||
         std::ranges::any_of(preset.also,
                             [bare](const std::string& name) { return Bare(name) == bare; });
}

const TransformerShape* FamilyShape(const std::vector<Family>& families, std::string_view name) {
  const auto found = std::ranges::find_if(
      families, [name](const Family& family) { return SameIgnoringCase(family.name, name); });
  return found == families.end() ? nullptr : &found->shape;
}

TransformerShape ReadShapeOfFamily(YamlFields& fields, const std::vector<Family>& families) {
  const std::string name = fields.Text("family");
  const TransformerShape* const base = FamilyShape(families, name);
  if (base == nullptr) {
    fields.Wrong("family", "must be one of the catalogue's", name);
    return {};
  }
  return ReadTransformerShape(fields, *base);
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

std::string PlaceOf(const YAML::Node& node, std::size_t index) {
  if (node.IsMap() && node["name"].IsDefined() && node["name"].IsScalar()) {
    return fmt::format("model '{}'", node["name"].Scalar());
  }
  return fmt::format("model {}", index + 1);
}

Result<PresetCatalogue> ReadAll(const YAML::Node& root) {
  std::optional<Error> first_error;
  YamlFields top(root, "catalogue of models", first_error);
  PresetCatalogue catalogue;
  catalogue.families = ReadFamilies(top, first_error);
  const YAML::Node models = top.Node("models");
  for (std::size_t i = 0; models.IsSequence() && i < models.size() && !first_error; ++i) {
    YamlFields fields(models[i], PlaceOf(models[i], i), first_error);
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

std::vector<std::string_view> AllNames(const PresetCatalogue& catalogue) {
  std::vector<std::string_view> names;
  for (const Preset& preset : catalogue.models) {
    std::ranges::copy(NamesOf(preset), std::back_inserter(names));
  }
  return names;
}

}  // namespace

Result<PresetCatalogue> ReadPresets(const std::string& yaml) {
  try {
    return ReadAll(YAML::Load(yaml));
  } catch (const YAML::Exception& exception) {
    return Fail(Error::Kind::kInvalidInput, fmt::format("catalogue of models: line {}: {}",
                                                        exception.mark.line + 1, exception.msg));
  }
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
  for (const Preset& preset : Presets().models) {
    if (IsNamed(preset, bare)) {
      return &preset;
    }
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("'{}' is not a known model; the nearest is {}", name,
                          NearestWord(name, AllNames(Presets()))));
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
  std::vector<std::string_view> names;
  for (const Family& family : Presets().families) {
    if (SameIgnoringCase(family.name, name)) {
      return &family;
    }
    names.emplace_back(family.name);
  }
  return Fail(Error::Kind::kNotFound,
              fmt::format("'{}' is not a known family: choose one of {}", name,
                          fmt::join(names, ", ")));
}

Result<Model> ModelOf(const Preset& preset, kernel::DataType type) {
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

}  // namespace orrery::workload
