#pragma once

#include "orrery/base/error.h"
#include "orrery/kernel/model_set.h"

namespace orrery::kernel {

/// Reads the embedded models: data/models/kernels, one file for each measured GPU, and the levels
/// of data/models/sibling_levels.yaml. Takes a moment.
[[nodiscard]] Result<ModelSet> ShippedModels();

}  // namespace orrery::kernel
