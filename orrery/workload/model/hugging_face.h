#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {

/// A model as its configuration describes it.
struct HuggingFaceModel {
  std::string name;  // `_name_or_path`; empty: it has none
  std::string model_type = {};
  TransformerShape shape = {};
  std::int64_t max_positions = 0;              // of a sequence; 0: not said
  std::vector<std::string> not_modelled = {};  // a sentence for each thing that is left out
};

/// Reads the text of a `config.json`. Without `model_type` the first of `architectures` names it.
/// An unknown one is an error that lists the known ones. An error names the key.
[[nodiscard]] Result<HuggingFaceModel> ReadHuggingFace(std::string_view json);

/// The model's name, never empty: the last part of `_name_or_path`, else the name of `file`
/// ("config.json": of its folder, as far as the path says it), else the `model_type`.
[[nodiscard]] std::string NameOfConfiguration(const HuggingFaceModel& model,
                                              const std::filesystem::path& file);

}  // namespace orrery::workload
