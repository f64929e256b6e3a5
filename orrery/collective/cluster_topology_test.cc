#include "orrery/collective/cluster_topology.h"

#include <string>

#include <gtest/gtest.h>

#include "orrery/network/placement.h"
#include "orrery/network/routing.h"

namespace orrery::collective {
namespace {

const hardware::Cluster& Find(const std::string& name) {
  const hardware::Cluster* const cluster = hardware::FindCluster(name);
  EXPECT_NE(cluster, nullptr) << name;
  return *cluster;
}

network::Topology Build(const std::string& name, int nodes) {
  return TopologyOf(Find(name), nodes).value();
}

network::PlacementFacts Facts(const network::Topology& topology) {
  network::Router router(topology);
  const auto placement = network::Placement::Strided(topology, 0, topology.num_gpus()).value();
  return Describe(placement, router).value();
}

TEST(ClusterTopologyTest, OneNodeIsAnIslandWithoutNetwork) {
  const network::Topology topology = Build("DGX H100", 1);
  EXPECT_EQ(topology.num_gpus(), 8u);
  EXPECT_EQ(topology.num_islands(), 1u);
  const network::PlacementFacts facts = Facts(topology);
  EXPECT_EQ(facts.island_per_gpu.bytes_per_second, 450e9);
  EXPECT_EQ(facts.island_latency_ps, 50'000);
}

// 64 nodes in two blocks of 32: 16 leaves with 32 cables up. A spine of 64 ports takes 64 / 16 = 4
// from each leaf, so there are 8.
TEST(ClusterTopologyTest, RailsAreWhatTheCatalogueSays) {
  const network::Topology topology = Build("DGX H100", 64);
  EXPECT_EQ(topology.num_gpus(), 512u);
  EXPECT_EQ(topology.num_islands(), 64u);
  EXPECT_TRUE(topology.FindLink("leaf15", "spine7").has_value());
  EXPECT_FALSE(topology.FindLink("leaf15", "spine8").has_value());
  const auto up = topology.FindLink("leaf0", "spine0").value();
  EXPECT_EQ(topology.link(up).bandwidth.bytes_per_second, 4 * 50e9);
  EXPECT_EQ(Facts(topology).network_per_gpu.bytes_per_second, 50e9);
}

// Four NICs of 12.5 GB/s for eight GPUs, no levels known: 52 · 4 = 208 ports need two tiers of 48.
TEST(ClusterTopologyTest, UnknownLevelsAreTheFewestThatFit) {
  const network::Topology topology = Build("Jean Zay A100", 52);
  EXPECT_EQ(topology.num_gpus(), 416u);
  EXPECT_TRUE(topology.FindLink("leaf8", "spine0").has_value());
  EXPECT_EQ(Facts(topology).network_per_island.bytes_per_second, 50e9);
  EXPECT_TRUE(Build("Jean Zay A100", 2).FindLink("nic1.3", "leaf0").has_value());
}

// 32 NICs of 100 Gb/s for eight GPUs: one of 400 for each.
TEST(ClusterTopologyTest, NicsBeyondOneForEachGpuAreOne) {
  const network::PlacementFacts facts = Facts(Build("AWS p5", 4));
  EXPECT_EQ(facts.network_per_gpu.bytes_per_second, 50e9);
  EXPECT_EQ(facts.network_per_island.bytes_per_second, 400e9);
}

TEST(ClusterTopologyTest, AnIslandThatSpansNodesIsWhole) {
  EXPECT_EQ(Build("GB200 NVL72", 4).num_gpus(), 16u);
  const network::Topology topology = Build("GB200 NVL72", 20);
  EXPECT_EQ(topology.num_gpus(), 144u);
  EXPECT_EQ(topology.num_islands(), 2u);
}

// 256 nodes are two groups; from one to the other over one cable between groups.
TEST(ClusterTopologyTest, ADragonflyHasServers) {
  const network::Topology topology = Build("Perlmutter", 256);
  EXPECT_EQ(topology.num_gpus(), 1024u);
  EXPECT_EQ(topology.num_islands(), 256u);
  network::Router router(topology);
  // Slot, port, cable between groups, port, slot: both are at router 0 of their group.
  EXPECT_EQ(router.Distance(0, 512).value(), 5u);
  EXPECT_EQ(router.Distance(0, 1023).value(), 6u);
}

TEST(ClusterTopologyTest, EveryClusterOfTheCatalogueCanBeBuilt) {
  for (const hardware::Cluster& cluster : hardware::ClusterCatalogue()) {
    for (const int nodes : {1, 2, 40}) {
      if (cluster.nodes > 0 && nodes > cluster.nodes) {
        continue;
      }
      const auto topology = TopologyOf(cluster, nodes);
      ASSERT_TRUE(topology.has_value()) << cluster.name << ": " << topology.error().message();
      EXPECT_GE(topology->num_gpus(), static_cast<unsigned>(nodes * cluster.gpus_per_node));
      network::Router router(*topology);
      EXPECT_TRUE(router.Distance(0, topology->num_gpus() - 1).has_value()) << cluster.name;
    }
  }
}

TEST(ClusterTopologyTest, WhatCannotBeBuiltIsSaid) {
  EXPECT_EQ(TopologyOf(Find("Selene"), 561).error().message(),
            "Selene has 560 nodes, fewer than 561");
  EXPECT_EQ(TopologyOf(Find("Selene"), 0).error().message(),
            "a topology needs at least one node: 0");
  hardware::Cluster alone = Find("L40S PCIe");
  alone.nodes = 0;
  EXPECT_EQ(TopologyOf(alone, 2).error().message(), "L40S PCIe has no network to join 2 nodes");
}

}  // namespace
}  // namespace orrery::collective
