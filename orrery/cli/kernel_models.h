#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/kernel/model_set.h"

namespace orrery::cli {

/// Reads model files; without any, the models that are part of the program.
[[nodiscard]] Result<kernel::ModelSet> LoadKernelModels(const std::vector<std::string>& paths);

}  // namespace orrery::cli
