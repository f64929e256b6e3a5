#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/workload/model/json_config.h"
#include "orrery/workload/model/transformer_shape.h"

namespace orrery::workload {

/// A reader of configurations of one `model_type`, after the sizes that all have.
struct HuggingFaceType {
  std::string_view model_type;
  std::string_view family;  // of the catalogue of models: what its layers have in common
  void (*read)(JsonConfig& config, TransformerShape& shape, std::vector<std::string>& not_modelled);
};

/// Every supported type, by name.
[[nodiscard]] std::span<const HuggingFaceType> HuggingFaceTypes();

}  // namespace orrery::workload
