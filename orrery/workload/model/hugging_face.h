#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {

/// What a configuration says about a model.
struct HuggingFaceModel {
  std::string name;  // `_name_or_path`; empty: it has none
  TransformerShape shape = {};
  std::int64_t max_positions = 0;              // of a sequence; 0: not said
  std::vector<std::string> not_modelled = {};  // a sentence for each thing that is left out
};

/// Reads the text of a `config.json`. An unknown `model_type` is an error that lists the known
/// ones. An error names the key.
[[nodiscard]] Result<HuggingFaceModel> ReadHuggingFace(std::string_view json);

}  // namespace orrery::workload
