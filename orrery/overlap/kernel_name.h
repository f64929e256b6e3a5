#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "orrery/kernel/work.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// Profilers do not record thread block clusters, but names of cuBLAS kernels contain them:
/// "nvjet_…_128x6_2x1_v_…" has clusters of 2 × 1. Its older kernels with warp groups
/// ("sm90_xmma…") mostly have clusters of two. 1 for other names.
[[nodiscard]] int ClusterInName(std::string_view kernel);

/// The tile of a GEMM's result that one block computes at a time, and the cluster shape, as in
/// kernel names: "nvjet_sm90_tst_256x128_64x4_1x2_…"
/// (tile, depth with stages, cluster), "…_tilesize128x64x8_…", "…sgemm_128x256_8x4…". Rows are of
/// the result as the library sees it, whose first dimension is the last of the framework's.
struct Tile {
  int rows = 0;
  int columns = 0;
  int cluster_rows = 1;
  int cluster_columns = 1;
};

[[nodiscard]] std::optional<Tile> TileInName(std::string_view kernel);

/// The distribution of a GEMM's tiles over its blocks.
struct GemmBlocks {
  std::int64_t working = 0;  // blocks with a tile; the others exit at once
  double tiles = kUnknown;   // if blocks process several tiles
};

/// Derived from the tile in the kernel's name and the number of blocks. cuBLAS for Hopper launches
/// as many blocks as fit, which take tiles until none are left; a result is made of whole clusters
/// of tiles. CUTLASS assigns tiles in groups of 2, 4 or 8 columns, so that some of its blocks have
/// none. All blocks have work if the name has no tile or the count does not match.
[[nodiscard]] GemmBlocks BlocksOfGemm(const kernel::GemmShape& gemm, std::string_view kernel_name,
                                      std::int64_t blocks);

}  // namespace orrery::overlap
