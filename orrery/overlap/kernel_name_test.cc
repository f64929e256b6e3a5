#include <optional>
#include <utility>

#include <gtest/gtest.h>

#include "orrery/overlap/pair_table.h"

namespace orrery::overlap {
namespace {

TEST(KernelName, HasTheClusterOfCublas) {
  EXPECT_EQ(ClusterInName("nvjet_sm90_qqtst_160x128_128x5_1x2_h_bz_coopA_algo2_TNN"), 2);
  EXPECT_EQ(ClusterInName("nvjet_sm90_qqtst_64x8_128x16_2x4_h_bz_algo2_TNT"), 8);
  EXPECT_EQ(ClusterInName("sm90_xmma_gemm_f32f32_tf32f32_f32_tn_n_tilesize128x128x32_x"), 2);
  EXPECT_EQ(ClusterInName("void at::native::reduce_kernel<512, 1>"), 1);
}

TEST(KernelName, HasTheTileOfGemms) {
  const auto tile_of = [](std::string_view name) {
    const std::optional<Tile> tile = TileInName(name);
    return tile ? std::pair(tile->rows, tile->columns) : std::pair(0, 0);
  };
  EXPECT_EQ(tile_of("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_NNT"), std::pair(256, 128));
  EXPECT_EQ(tile_of("sm80_xmma_gemm_f32f32_f32f32_f32_nn_n_tilesize64x128x8_stage3"),
            std::pair(64, 128));
  EXPECT_EQ(tile_of("void cutlass::Kernel2<cutlass_80_simt_sgemm_128x256_8x4_nt_align1>"),
            std::pair(128, 256));
  EXPECT_EQ(tile_of("void at::native::vectorized_elementwise_kernel<4>"), std::pair(0, 0));
  EXPECT_EQ(tile_of(""), std::pair(0, 0));
}

}  // namespace
}  // namespace orrery::overlap
