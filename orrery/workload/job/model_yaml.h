#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/kernel/data_type.h"
#include "orrery/workload/model/model.h"

namespace orrery::workload {

/// The context of the section `model` of a job.
struct ModelPlace {
  std::string place;                                // what an error begins with
  std::filesystem::path folder;                     // where files are looked for
  kernel::DataType type = kernel::DataType::kBf16;  // of the elements of listed layers
};

/// Reads the section `model`: the name of a preset; a mapping with `preset`, `hugging_face` or
/// `family` and what differs from it; `dlrm`; or `layers` as a list of operators. What a
/// configuration holds and Orrery does not model is added to `not_modelled`.
[[nodiscard]] Result<Model> ReadModel(const YAML::Node& node, const ModelPlace& place,
                                      std::vector<std::string>& not_modelled);

}  // namespace orrery::workload
