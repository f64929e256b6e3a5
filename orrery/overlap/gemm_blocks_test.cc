#include <cmath>

#include <gtest/gtest.h>

#include "orrery/overlap/pair_table.h"

namespace orrery::overlap {
namespace {

TEST(GemmBlocks, CountsTilesInWholeClusters) {
  // n = 3824 in tiles of 144 is 27, m = 1744 in tiles of 128 is 14, in clusters of 1 x 2.
  const GemmBlocks blocks =
      BlocksOfGemm({.m = 1744, .n = 3824, .k = 1024},
                   "nvjet_sm90_qqtst_144x128_128x6_1x2_h_bz_coopA_algo2_TNN", 132);
  EXPECT_EQ(blocks.working, 132);
  EXPECT_DOUBLE_EQ(blocks.tiles, 27 * 14);
  // 13 rows of tiles become 14.
  EXPECT_DOUBLE_EQ(BlocksOfGemm({.m = 1600, .n = 144},
                                "nvjet_sm90_qqtst_144x128_128x6_1x2_h_bz_coopA_algo2_TNN", 14)
                       .tiles,
                   14);
}

TEST(GemmBlocks, LeavesOutBlocksWithoutATile) {
  // n = 320 in tiles of 128 is 3 columns, dealt out in fours; 11 rows of 256: 44 places, of which
  // 33 have a tile; 176 blocks are four parts of the sum.
  const GemmBlocks blocks =
      BlocksOfGemm({.m = 2616, .n = 320, .k = 4096},
                   "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>", 176);
  EXPECT_EQ(blocks.working, 33 * 4);
  EXPECT_TRUE(std::isnan(blocks.tiles));
}

TEST(GemmBlocks, AllWorkWhereTheCountDoesNotComeOut) {
  const std::string_view name =
      "void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>";
  EXPECT_EQ(BlocksOfGemm({.m = 2616, .n = 320}, name, 33).working, 33);
  EXPECT_EQ(BlocksOfGemm({.m = 2616, .n = 320}, name, 35).working, 35);
  EXPECT_EQ(BlocksOfGemm({.m = 2616, .n = 320}, "gemv2T_kernel", 44).working, 44);
}

}  // namespace
}  // namespace orrery::overlap
