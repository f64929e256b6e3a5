#pragma once

#include <cstdint>
#include <string_view>

#include "orrery/kernel/work.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// How the blocks of a matrix product share out its result.
struct GemmBlocks {
  std::int64_t working = 0;  // blocks that have a tile; the others leave at once
  double tiles = kUnknown;   // where blocks take one tile after the other
};

/// Follows from the tile in the kernel's name and the number of blocks. cuBLAS for Hopper launches
/// as many blocks as fit, which take tiles until none are left; a result is made of whole clusters
/// of tiles. CUTLASS deals tiles out in groups of 2, 4 or 8 columns, so that some of its blocks
/// have none. All blocks work where the name says nothing or the count does not come out.
[[nodiscard]] GemmBlocks BlocksOfGemm(const kernel::GemmShape& product,
                                            std::string_view kernel_name, std::int64_t blocks);

}  // namespace orrery::overlap
