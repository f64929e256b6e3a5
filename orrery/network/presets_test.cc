#include "orrery/network/presets.h"

#include <cstdint>
#include <map>
#include <string_view>
#include <utility>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr Wire kWire{.bandwidth = {50e9}, .latency_ps = 500'000};
constexpr Wire kNvlink{.bandwidth = {400e9}, .latency_ps = 25'000, .kind = LinkKind::kNvlink};
constexpr Wire kPcie{.bandwidth = {64e9}, .latency_ps = 100'000, .kind = LinkKind::kPcie};

Server Dgx(std::uint32_t ports = 1) {
  return {.num_gpus = 8,
          .num_nics = 8,
          .ports_per_nic = ports,
          .nvlink = kNvlink,
          .pcie = kPcie,
          .port = kWire};
}

// Switches whose names begin with a word.
std::uint32_t CountNamed(const Topology& topology, std::string_view prefix) {
  std::uint32_t count = 0;
  for (NodeId node = 0; node < topology.num_nodes(); ++node) {
    count += topology.name(node).starts_with(prefix) ? 1 : 0;
  }
  return count;
}

TEST(PresetsTest, AnIslandIsAStar) {
  const Topology topology = MakeNvswitchIsland({.num_gpus = 8, .nvlink = kNvlink}).value();

  EXPECT_EQ(topology.num_gpus(), 8u);
  EXPECT_EQ(topology.num_links(), 16u);
  EXPECT_EQ(topology.num_islands(), 1u);
}

// Six links of a V100 go to four neighbours.
TEST(PresetsTest, EveryGpuOfACubeMeshHasSixLinks) {
  const Topology topology = MakeCubeMesh({.nvlink = {.bandwidth = {25e9}}}).value();

  for (GpuId gpu = 0; gpu < 8; ++gpu) {
    double out = 0;
    for (const LinkId link : topology.out_links(topology.gpu_node(gpu))) {
      out += topology.link(link).bandwidth.bytes_per_second;
    }
    EXPECT_EQ(topology.out_links(topology.gpu_node(gpu)).size(), 4u);
    EXPECT_EQ(out, 150e9);
  }
}

TEST(PresetsTest, PairsAndPcieTrees) {
  const Topology pairs = MakeNvlinkPairs({.num_gpus = 4, .nvlink = kNvlink, .pcie = kPcie}).value();
  EXPECT_EQ(pairs.num_links(), 12u);  // 4 slots and 2 bridges, both ways

  const Topology tree = MakePcieTree({.num_cpus = 2,
                                      .switches_per_cpu = 2,
                                      .gpus_per_switch = 2,
                                      .nics_per_switch = 1,
                                      .slot = kPcie,
                                      .uplink = kPcie,
                                      .socket = {.bandwidth = {20e9}, .kind = LinkKind::kHostBus}})
                            .value();
  EXPECT_EQ(tree.num_gpus(), 8u);
  EXPECT_EQ(tree.num_links(), 2u * (12 + 4 + 1));  // slots, uplinks, sockets
  EXPECT_EQ(tree.num_islands(), 1u);
}

// r²/2 and r³/4 hosts at full bisection; three to one down at a radix of 64 is 48 ports of 64.
TEST(PresetsTest, ClosHasTheHostsOfItsRadix) {
  EXPECT_EQ(ClosPorts(2, 64, 1), 2'048u);
  EXPECT_EQ(ClosPorts(3, 64, 1), 65'536u);
  EXPECT_EQ(ClosPorts(2, 64, 3), 64u * 48);

  const Topology two =
      MakeClos({.tiers = 2, .radix = 16, .server = BareHost(kWire), .fabric = kWire}).value();
  EXPECT_EQ(two.num_gpus(), 128u);
  EXPECT_EQ(CountNamed(two, "leaf"), 16u);
  EXPECT_EQ(CountNamed(two, "spine"), 8u);

  const Topology three =
      MakeClos({.tiers = 3, .radix = 8, .server = BareHost(kWire), .fabric = kWire}).value();
  EXPECT_EQ(three.num_gpus(), 128u);
  EXPECT_EQ(CountNamed(three, "leaf"), 32u);
  EXPECT_EQ(CountNamed(three, "pod"), 32u);
  EXPECT_EQ(CountNamed(three, "core"), 16u);
}

// No switch has more cables than ports.
TEST(PresetsTest, SwitchesOfAClosKeepToTheirRadix) {
  const Topology topology = MakeClos({.tiers = 3,
                                      .radix = 8,
                                      .oversubscription = 3,
                                      .num_servers = 9,
                                      .server = Dgx(),
                                      .fabric = kWire})
                                .value();
  for (NodeId node = 0; node < topology.num_nodes(); ++node) {
    if (topology.kind(node) == NodeKind::kSwitch && topology.name(node) != "nvswitch0") {
      EXPECT_LE(topology.out_links(node).size(), 8u) << topology.name(node);
    }
  }
  EXPECT_EQ(topology.num_gpus(), 72u);
  EXPECT_EQ(topology.num_islands(), 9u);
}

// 16³ hosts below 16² leaves, 16² switches in the middle and 16² at the top.
TEST(PresetsTest, FatTreeByArities) {
  const Topology topology = MakeFatTree({.host = kWire, .fabric = kWire}).value();

  EXPECT_EQ(topology.num_gpus(), 4'096u);
  EXPECT_EQ(topology.num_nodes(), 4'096u + 3 * 256);
  EXPECT_EQ(topology.num_links(), 2u * 3 * 4'096);
}

// 5 servers in blocks of 2: 3 blocks of 8 leaves, each joined to 4 spines.
TEST(PresetsTest, RailsHaveALeafForEachNic) {
  const Topology topology = MakeRailOptimised({.num_servers = 5,
                                               .servers_per_block = 2,
                                               .num_spines = 4,
                                               .cables_per_spine = 2,
                                               .server = Dgx(),
                                               .fabric = kWire})
                                .value();
  EXPECT_EQ(topology.num_gpus(), 40u);
  EXPECT_EQ(CountNamed(topology, "leaf"), 24u);
  EXPECT_EQ(topology.num_links(), 2u * (5 * 8 * 3 + 24 * 4));
}

// Every NIC has a port in both planes; leaves of a plane meet in its own spines.
TEST(PresetsTest, PlanesKeepApart) {
  const Topology topology = MakeMultiPlane({.num_servers = 4,
                                            .servers_per_block = 2,
                                            .spines_per_plane = 3,
                                            .server = Dgx(2),
                                            .fabric = kWire})
                                .value();
  EXPECT_EQ(CountNamed(topology, "leaf"), 4u);
  EXPECT_EQ(CountNamed(topology, "spine"), 6u);
  EXPECT_EQ(CountNamed(topology, "nic"), 64u);
  EXPECT_EQ(topology.num_links(), 2u * (4 * 8 + 2 * 64 + 4 * 3));
}

// Balanced with p = 4: a = 8, h = 4, so 33 groups and 1,056 hosts; every two groups are joined
// once.
TEST(PresetsTest, BalancedDragonfly) {
  const Topology topology = MakeDragonfly({.host = kWire, .local = kWire, .global = kWire}).value();
  ASSERT_EQ(topology.dragonfly()->num_groups, 33u);
  EXPECT_EQ(topology.num_gpus(), 1'056u);

  std::map<std::pair<NodeId, NodeId>, int> cables;
  for (const Link& link : topology.links()) {
    const NodeId from = link.from / 8;
    const NodeId to = link.to / 8;
    if (link.from < 264 && link.to < 264 && from != to) {
      ++cables[{from, to}];
    }
  }
  EXPECT_EQ(cables.size(), 33u * 32);
  for (const auto& [groups, count] : cables) {
    EXPECT_EQ(count, 1);
  }
}

// A cut of the last side of 4 × 3 × 6 crosses twice every line along it: 2 · 4 · 3 cables.
TEST(PresetsTest, TorusBisection) {
  const Topology topology = MakeTorus({.sides = {4, 3, 6}, .wire = kWire}).value();
  std::uint32_t crossing = 0;
  for (const Link& link : topology.links()) {
    const bool from_upper = link.from / 12 < 3;
    const bool to_upper = link.to / 12 < 3;
    crossing += from_upper && !to_upper ? 1 : 0;
  }
  EXPECT_EQ(topology.num_gpus(), 72u);
  EXPECT_EQ(crossing, 24u);
  EXPECT_EQ(MakeTorus({.sides = {2}, .wire = kWire})->num_links(), 2u);
}

TEST(PresetsTest, BadParametersAreNamed) {
  EXPECT_EQ(MakeClos({.tiers = 4}).error().message(), "a Clos has 2 or 3 tiers: 4");
  EXPECT_EQ(MakeClos({.radix = 63}).error().message(), "radix must be even and from 2 to 1024: 63");
  EXPECT_EQ(MakeClos({.radix = 4, .num_servers = 2, .server = Dgx()}).error().message(),
            "2 servers of 8 ports do not fit the 8 ports of this Clos; raise radix or tiers");
  EXPECT_EQ(MakeSingleSwitch({.server = {.num_gpus = 8, .num_nics = 3}}).error().message(),
            "the NICs of a server must divide its 8 GPUs: 3");
  EXPECT_EQ(MakeTorus({.sides = {4, 0}}).error().message(),
            "side of a torus must be at least 1: 0");
  EXPECT_EQ(MakeRailOptimised(
                {.num_servers = 4, .servers_per_block = 2, .num_spines = 0, .server = Dgx()})
                .error()
                .message(),
            "2 blocks need spines to meet; raise the number of spines or servers_per_block");
  EXPECT_EQ(MakeTorus({.sides = {4}, .wire = {}}).error().message(),
            "bandwidth of link gpu0 → gpu1 must be above zero: 0 bytes per second");
}

}  // namespace
}  // namespace orrery::network
