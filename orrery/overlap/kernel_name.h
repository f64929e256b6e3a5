#pragma once

#include <optional>
#include <string_view>

namespace orrery::overlap {

/// Profilers do not record clusters of blocks, but cuBLAS writes them into names:
/// "nvjet_…_128x6_2x1_v_…" has clusters of 2 × 1. Its older kernels with warp groups
/// ("sm90_xmma…") mostly have clusters of two. 1 for other names.
[[nodiscard]] int ClusterInName(std::string_view kernel);

/// The tile of a product's result that one block computes at a time, and how many blocks of a
/// cluster lie side by side, as libraries write it into names: "nvjet_sm90_tst_256x128_64x4_1x2_…"
/// (tile, depth with stages, cluster), "…_tilesize128x64x8_…", "…sgemm_128x256_8x4…". Rows are of
/// the result as the library sees it, whose first dimension is the last of the framework's.
struct Tile {
  int rows = 0;
  int columns = 0;
  int cluster_rows = 1;
  int cluster_columns = 1;
};

[[nodiscard]] std::optional<Tile> TileInName(std::string_view kernel);

}  // namespace orrery::overlap
