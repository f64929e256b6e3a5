#include "orrery/collective/fabric.h"

#include <string>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/hardware/cluster.h"

namespace orrery::collective {
namespace {

Fabric Of(std::string_view cluster, int gpus, int gpus_per_node = 0) {
  return FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus, .gpus_per_node = gpus_per_node})
      .value();
}

std::string ErrorOf(std::string_view cluster, int gpus, int gpus_per_node = 0) {
  const auto fabric =
      FabricOf(*hardware::FindCluster(cluster), {.gpus = gpus, .gpus_per_node = gpus_per_node});
  return fabric ? "no error" : fabric.error().message();
}

TEST(FabricTest, LinksAsNcclCountsThem) {
  EXPECT_NEAR(Of("DGX A100", 8).gpu_link.bytes_per_second, 240e9, 1);
  EXPECT_NEAR(Of("DGX H100", 8).gpu_link.bytes_per_second, 370.8e9, 1);
  EXPECT_NEAR(Of("DGX B200", 8).gpu_link.bytes_per_second, 721.8e9, 1);
  EXPECT_NEAR(Of("HGX H800", 8).gpu_link.bytes_per_second, 164.8e9, 1);
  EXPECT_NEAR(Of("DGX-1 V100", 8).gpu_link.bytes_per_second, 120e9, 1);
  EXPECT_EQ(Of("L40S PCIe", 8).gpu_link.bytes_per_second, 24e9);
  EXPECT_EQ(Of("L40S PCIe", 8).intra, IntraLink::kPcie);
}

TEST(FabricTest, RanksFillNodesOneByOne) {
  const Fabric fabric = Of("DGX A100", 20);
  EXPECT_EQ(fabric.nodes, 3);
  EXPECT_EQ(fabric.ranks_per_node, 6);
  EXPECT_EQ(fabric.nics, 6);
  EXPECT_EQ(fabric.node_network().bytes_per_second, 150e9);
}

TEST(FabricTest, ANodeIsAnIsland) {
  EXPECT_EQ(Of("GB200 NVL72", 72).nodes, 1);
  EXPECT_EQ(Of("GB200 NVL72", 144).nodes, 2);
  EXPECT_EQ(Of("GB200 NVL72", 144).nics, 72);
  EXPECT_EQ(Of("DGX H100", 16, 1).nodes, 16);
  EXPECT_EQ(Of("DGX H100", 16, 1).nics, 1);
}

TEST(FabricTest, NicsThatServeOneGpuCountAsOne) {
  const Fabric p5 = Of("AWS p5", 16);  // 32 of 100 Gb/s
  EXPECT_EQ(p5.nics, 8);
  EXPECT_EQ(p5.nic.bytes_per_second, 50e9);
  EXPECT_EQ(p5.nic_latency_us, 75);
  const Fabric p4d = Of("AWS p4d", 16);  // 4 of 100 Gb/s
  EXPECT_EQ(p4d.nics, 4);
  EXPECT_EQ(p4d.node_network().bytes_per_second, 50e9);
}

TEST(FabricTest, GraphsAreThoseOfTheLogs) {
  EXPECT_EQ(Of("Azure ND A100 v4", 16).rings.channels, 8);
  EXPECT_EQ(Of("Azure ND A100 v4", 16).rings.inter_speed, 24);
  EXPECT_EQ(Of("DGX H100", 16).rings.channels, 12);
  EXPECT_EQ(Of("L40S PCIe", 4).rings.channels, 2);
  EXPECT_EQ(Of("L40S PCIe", 4).rings.intra_speed, 12);
  EXPECT_EQ(Of("DGX H100", 8).nvls.channels, 8);
  EXPECT_EQ(Of("DGX A100", 8).nvls.channels, 0);
}

// Without a switch, links to GPUs that take no part are of no use. Measured on V100: 22.6, 45.1,
// 85.4, 45.7 and 87.0 GB/s with 2, 3, 4, 6 and 7 ranks.
TEST(FabricTest, AMeshHasOnlyTheLinksBetweenItsRanks) {
  EXPECT_NEAR(Of("Perlmutter", 2).gpu_link.bytes_per_second, 80e9, 1);
  EXPECT_NEAR(Of("Perlmutter", 4).gpu_link.bytes_per_second, 240e9, 1);
  EXPECT_NEAR(Of("DGX-1 V100", 2).rings.intra_total(), 20, 1e-9);
  EXPECT_NEAR(Of("DGX-1 V100", 3).rings.intra_total(), 40, 1e-9);
  EXPECT_NEAR(Of("DGX-1 V100", 4).rings.intra_total(), 80, 1e-9);
  EXPECT_NEAR(Of("DGX-1 V100", 6).rings.intra_total(), 40, 1e-9);
  EXPECT_NEAR(Of("DGX-1 V100", 7).rings.intra_total(), 80, 1e-9);
  EXPECT_NEAR(Of("DGX A100", 2).rings.intra_total(), 240, 1e-9);
}

TEST(FabricTest, WhatDoesNotFitIsRejected) {
  EXPECT_EQ(ErrorOf("DGX A100", 0), "a collective needs at least one GPU, not 0");
  EXPECT_EQ(ErrorOf("DGX A100", 1121), "DGX A100 has 1120 GPUs, not 1121");
  EXPECT_EQ(ErrorOf("L40S PCIe", 9), "L40S PCIe has 8 GPUs, not 9");
  EXPECT_EQ(ErrorOf("DGX A100", 16, 16), "DGX A100 joins 8 GPUs without a NIC, not 16");
  EXPECT_EQ(ErrorOf("Azure ND A100 v4", 1 << 20), "no error");
}

}  // namespace
}  // namespace orrery::collective
