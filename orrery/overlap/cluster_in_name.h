#pragma once

#include <string_view>

namespace orrery::overlap {

/// Profilers do not record clusters of blocks, but cuBLAS writes them into names:
/// "nvjet_…_128x6_2x1_v_…" has clusters of 2 × 1. 1 for other names.
[[nodiscard]] int ClusterInName(std::string_view kernel);

}  // namespace orrery::overlap
