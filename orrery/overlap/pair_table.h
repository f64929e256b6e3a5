#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/document/csv.h"
#include "orrery/base/error.h"
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

enum class Mode : std::uint8_t {
  kSteady,   // continuous communication during repeated launches of the compute kernel
  kArrival,  // one launch of each, the second with an offset
};

/// Two kernels that were measured alone and together (docs/formats/overlap-pairs.md).
struct MeasuredPair {
  Pair pair = {};
  Machine machine = {};
  std::string gpu;
  std::string kernel;  // text of the operator; rows are held out by it
  std::string name;    // of the kernel that ran
  Mode mode = Mode::kSteady;
  bool compute_is_first = false;
  double offset_us = 0;     // of the second launch after the first
  double alone_spread = 0;  // relative, between the quartiles
  double together_us = 0;
  double together_spread = 0;                // relative, between the quartiles
  int repeats = 0;                           // behind together_us
  double communication_alone_us = kUnknown;  // of an arrival, from its first block to its end
  double communication_together_us = kUnknown;
  double communication_together_gbps = 0;
  double compute_delay_us = 0;
  double communication_delay_us = kUnknown;  // until its last block started
  std::uint32_t file = 0;
  std::uint32_t line = 0;
};

/// The overlap of a row; nothing in steady state.
[[nodiscard]] std::optional<KernelOverlap> KernelOverlapOf(const MeasuredPair& row);

struct PairTable {
  std::vector<std::string> files;
  std::vector<MeasuredPair> rows;
  std::vector<RejectedRow> rejected;
};

/// Reads tables of `orrery measure overlap` (compressed or not). Rows with a rejection reason, of a
/// GPU that is not in the catalogue, or without a time are rejected by file and line. `counters`
/// names tables of counters (features/counters.csv), joined by operator and kernel.
[[nodiscard]] Result<PairTable> ReadPairs(std::span<const std::string> paths,
                                          std::span<const std::string> counters = {});

}  // namespace orrery::overlap
