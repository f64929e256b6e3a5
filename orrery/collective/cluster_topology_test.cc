#include "orrery/collective/cluster_topology.h"

#include <string>

#include <gtest/gtest.h>

#include "orrery/hardware/cluster.h"
#include "orrery/network/routing.h"
#include "orrery/network/topology.h"

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

// All islands of these clusters are alike.
double NetworkBytesPerIsland(const network::Topology& topology) {
  double bytes_per_second = 0;
  for (network::LinkId id = 0; id < topology.num_links(); ++id) {
    const network::Link& link = topology.link(id);
    const bool leaves = topology.kind(link.from) == network::NodeKind::kNic &&
                        link.kind == network::LinkKind::kNetwork;
    bytes_per_second += leaves ? link.bandwidth.bytes_per_second : 0;
  }
  return bytes_per_second / topology.num_islands();
}

double NetworkBytesPerGpu(const network::Topology& topology) {
  return NetworkBytesPerIsland(topology) / static_cast<double>(topology.island_gpus(0).size());
}

TEST(ClusterTopologyTest, OneNodeIsAnIslandWithoutNetwork) {
  const network::Topology topology = Build("DGX H100", 1);
  EXPECT_EQ(topology.num_gpus(), 8u);
  EXPECT_EQ(topology.num_islands(), 1u);
  double nvlink = 0;
  for (const network::LinkId link : topology.out_links(topology.gpu_node(0))) {
    const bool is_nvlink = topology.link(link).kind == network::LinkKind::kNvlink;
    nvlink += is_nvlink ? topology.link(link).bandwidth.bytes_per_second : 0;
  }
  EXPECT_EQ(nvlink, 450e9);
  network::Router router(topology);
  const auto placement = network::Placement::Strided(topology, 0, topology.num_gpus()).value();
  EXPECT_EQ(FindLatencies(placement, router).value().island_ps, 50'000);
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
  EXPECT_EQ(NetworkBytesPerGpu(topology), 50e9);
}

// Four NICs of 12.5 GB/s for eight GPUs, no levels known: 52 · 4 = 208 ports need two tiers of 48.
TEST(ClusterTopologyTest, UnknownLevelsAreTheFewestThatFit) {
  const network::Topology topology = Build("Jean Zay A100", 52);
  EXPECT_EQ(topology.num_gpus(), 416u);
  EXPECT_TRUE(topology.FindLink("leaf8", "spine0").has_value());
  EXPECT_EQ(NetworkBytesPerIsland(topology), 50e9);
  EXPECT_TRUE(Build("Jean Zay A100", 2).FindLink("nic1.3", "leaf0").has_value());
}

// 32 NICs of 100 Gb/s for eight GPUs: one of 400 for each.
TEST(ClusterTopologyTest, NicsBeyondOneForEachGpuAreOne) {
  const network::Topology topology = Build("AWS p5", 4);
  EXPECT_EQ(NetworkBytesPerGpu(topology), 50e9);
  EXPECT_EQ(NetworkBytesPerIsland(topology), 400e9);
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
