#pragma once

#include "orrery/base/error.h"
#include "orrery/kernel/model_set.h"

namespace orrery::kernel {

/// Reads the models that are part of the program: data/models/kernels, one file for each GPU that
/// was measured, and the levels of data/models/sibling_levels.yaml. They are as large as a picture
/// each, so this takes a moment.
[[nodiscard]] Result<ModelSet> ShippedModels();

}  // namespace orrery::kernel
