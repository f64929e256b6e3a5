#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/kernel/data_type.h"
#include "orrery/workload/model/model.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {

/// The name of a network that ConvolutionalNetwork builds.
struct ConvolutionalName {
  std::string name;
};

/// A model that people train, with the document that its numbers are from.
struct Preset {
  std::string name;
  std::vector<std::string> also;  // further names
  std::string source;
  std::variant<TransformerShape, ConvolutionalName, Dlrm> facts;
};

/// Properties that all models of a family have in common.
struct Family {
  std::string name;
  TransformerShape shape;
};

struct PresetCatalogue {
  std::vector<Family> families;
  std::vector<Preset> models;
};

/// Reads a catalogue; an error is one sentence that names the model and the field.
[[nodiscard]] Result<PresetCatalogue> ReadPresets(const std::string& yaml);

/// The catalogue that is built into the program (data/workload/models.yaml).
[[nodiscard]] const PresetCatalogue& Presets();

/// Finds a model by any of its names, whatever the case and whatever stands between letters and
/// digits: "Llama-3 8B" is llama3-8b. Fails with the nearest name.
[[nodiscard]] Result<const Preset*> FindPreset(std::string_view name);

/// Finds the model whose name occurs in a text, the longest such name: "DeepSeekV3 (w/o MTP)" has
/// deepseek-v3 in it. Nothing when there is none.
[[nodiscard]] const Preset* FindPresetWithin(std::string_view text);

/// Fails with the known families.
[[nodiscard]] Result<const Family*> FindFamily(std::string_view name);

/// Builds the model; `type` is that of the elements of a list of layers.
[[nodiscard]] Result<Model> ModelOf(const Preset& preset, DataType type);

/// The context of the section `model` of a job.
struct ModelPlace {
  std::string place;                // the beginning of errors
  std::filesystem::path folder;     // in which files are looked for
  DataType type = DataType::kBf16;  // of the elements of listed layers
};

/// Reads the section `model`: the name of a preset; a mapping with `preset`, `hugging_face` or
/// `family` and what differs from it; `dlrm`; or `layers` as a list of operators. What a
/// configuration holds and Orrery does not model is added to `not_modelled`.
[[nodiscard]] Result<Model> ReadModel(const YAML::Node& node, const ModelPlace& place,
                                      std::vector<std::string>& not_modelled);

}  // namespace orrery::workload
