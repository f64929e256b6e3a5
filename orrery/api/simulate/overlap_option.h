#pragma once

#include <array>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/simulate/simulation.h"

// The field `overlap` of requests of verbs that simulate.

namespace orrery::api {

inline constexpr auto kOverlaps = std::to_array<std::string_view>({"analytic", "model", "none"});

inline constexpr std::string_view kOverlapDoc =
    "how concurrent kernels slow each other down: not at all, by their shares of the GPU, or by a "
    "model fitted to pairs of kernels (default: model)";

/// Returns the model of concurrent kernels that a word stands for.
[[nodiscard]] Result<simulate::OverlapKind> OverlapNamed(const std::string& name);

}  // namespace orrery::api
