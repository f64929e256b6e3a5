#pragma once

#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/model_set.h"

namespace orrery::cli {

/// Reads model files; without any, the models that are part of the program.
[[nodiscard]] Result<kernel::ModelSet> LoadKernelModels(const std::vector<std::string>& paths);

/// Finds the GPU that --gpu names.
[[nodiscard]] Result<const hardware::Gpu*> GpuNamed(const std::string& name);

}  // namespace orrery::cli
