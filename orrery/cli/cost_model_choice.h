#pragma once

#include <memory>

#include "orrery/kernel/estimate.h"

namespace orrery::cli {

/// The model that prices operators where the user names none.
[[nodiscard]] std::unique_ptr<kernel::CostModel> DefaultCostModel();

}  // namespace orrery::cli
