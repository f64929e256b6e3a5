#pragma once

#include <vector>

#include <yaml-cpp/yaml.h>

#include "orrery/base/error.h"
#include "orrery/workload/job/other_gpus.h"

namespace orrery::workload {

/// Reads `{8-15: A100-80GB, 3: A100-80GB}`: ranks and the GPU that they have. Returns ascending
/// ranks; whether a job has them is not asked here.
[[nodiscard]] Result<std::vector<OtherGpus>> ReadOtherGpus(const YAML::Node& node);

}  // namespace orrery::workload
