#include <algorithm>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/request.h"

namespace orrery::collective {
namespace {

constexpr double kMebibyte = 1 << 20;

Fabric Of(int nodes, int ranks_per_node) {
  return {.ranks = nodes * ranks_per_node, .nodes = nodes, .ranks_per_node = ranks_per_node};
}

// µs for a size in bytes, without latencies; link and node network in GB/s.
double TransferTime(const Shape& shape, double size, double link, double node_network) {
  return size * std::max(shape.intra_traffic / link, shape.inter_traffic / node_network) / 1000;
}

TEST(ShapeTest, RingOnOneNodeAndOnSeveral) {
  EXPECT_EQ(ShapeOf(Of(1, 8), CollectiveKind::kAllReduce, Algorithm::kRing),
            (Shape{.intra_steps = 14, .intra_traffic = 1.75}));
  EXPECT_EQ(
      ShapeOf(Of(2, 8), CollectiveKind::kAllReduce, Algorithm::kRing),
      (Shape{.intra_steps = 28, .inter_steps = 2, .intra_traffic = 1.875, .inter_traffic = 1.875}));
  EXPECT_EQ(ShapeOf(Of(4, 1), CollectiveKind::kAllGather, Algorithm::kRing),
            (Shape{.inter_steps = 3, .inter_traffic = 0.75}));
  EXPECT_EQ(ShapeOf(Of(1, 4), CollectiveKind::kBroadcast, Algorithm::kRing),
            (Shape{.intra_steps = 3, .intra_traffic = 1}));
}

TEST(ShapeTest, TreeCrossesFewNodes) {
  EXPECT_EQ(
      ShapeOf(Of(2, 8), CollectiveKind::kAllReduce, Algorithm::kTree),
      (Shape{.intra_steps = 14, .inter_steps = 2, .intra_traffic = 1.75, .inter_traffic = 1}));
  EXPECT_EQ(ShapeOf(Of(16, 8), CollectiveKind::kAllReduce, Algorithm::kTree).inter_steps, 8);
  EXPECT_EQ(ShapeOf(Of(3, 8), CollectiveKind::kAllReduce, Algorithm::kTree).inter_traffic, 1.5);
}

// busbw <= 2 (n - 1) / (n + 1) B: 576.8 for 8 GPUs with 370.8 GB/s, and 473 at 82 % of it.
TEST(ShapeTest, SwitchReductionHasItsBound) {
  const Shape shape = ShapeOf(Of(1, 8), CollectiveKind::kAllReduce, Algorithm::kNvls);
  const double bound = BusFactor(CollectiveKind::kAllReduce, 8) * 370.8 / shape.intra_traffic;
  EXPECT_NEAR(bound, 576.8, 1e-9);
  EXPECT_NEAR(bound * 0.82, 473.0, 0.05);
}

// 256 MiB over 8 x 8 GPUs: 2 * 7/8 * 256 MiB / 360 = 1304.89 µs inside the node and
// 2 * 7/8 * 256 MiB / (8 * 48.5) = 1210.73 between nodes; one after the other 2515.62.
TEST(ShapeTest, HierarchicalIsTheSumOfItsPhases) {
  const Shape shape = ShapeOf(Of(8, 8), CollectiveKind::kAllReduce, Algorithm::kHierarchical);
  const double size = 256 * kMebibyte;
  const double inside = size * shape.intra_traffic / 360 / 1000;
  const double between = size * shape.inter_traffic / (8 * 48.5) / 1000;
  EXPECT_NEAR(inside + between, 2515.62, 0.005);
}

// 64 MiB a rank over the same cluster: 7/64 of it over NVLink, 56/64 over a NIC of 48.5 GB/s.
TEST(ShapeTest, AllToAllIsLimitedByTheNicOfAGpu) {
  const Shape shape = ShapeOf(Of(8, 8), CollectiveKind::kAllToAll, Algorithm::kDirect);
  const double size = 64 * kMebibyte;
  EXPECT_NEAR(size * shape.intra_traffic / 360 / 1000, 20.39, 0.005);
  const double time = TransferTime(shape, size, 360, 8 * 48.5);
  EXPECT_NEAR(time, 1210.73, 0.005);
  EXPECT_NEAR(BusFactor(CollectiveKind::kAllToAll, 64) * size / time / 1000, 54.5625, 1e-9);
  EXPECT_EQ(shape.inter_steps, 7);
}

TEST(ShapeTest, OneRankHasNothingToDo) {
  EXPECT_EQ(ShapeOf(Of(1, 1), CollectiveKind::kAllReduce, Algorithm::kRing), Shape{});
}

}  // namespace
}  // namespace orrery::collective
