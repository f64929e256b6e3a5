#pragma once

#include <string_view>

namespace orrery::overlap {

/// Profilers do not record clusters of blocks, but cuBLAS writes them into names:
/// "nvjet_…_128x6_2x1_v_…" has clusters of 2 × 1. Its older kernels with warp groups
/// ("sm90_xmma…") mostly have clusters of two. 1 for other names.
[[nodiscard]] int ClusterInName(std::string_view kernel);

}  // namespace orrery::overlap
