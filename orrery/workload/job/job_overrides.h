#pragma once

#include <span>
#include <string>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"

namespace orrery::workload {

/// Applies texts like "plan.tp=4" to the tree of a job: the value, itself YAML, replaces what is
/// under the path. A model, cluster or framework that is only a name becomes a mapping that begins
/// with it, so that "model.layers=4" changes a preset.
[[nodiscard]] Status ApplyOverrides(YAML::Node root, std::span<const std::string> overrides);

}  // namespace orrery::workload
