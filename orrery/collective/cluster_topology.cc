#include "orrery/collective/cluster_topology.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <utility>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/base/units.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"

namespace orrery::collective {
namespace {

using hardware::Cluster;
using hardware::FabricPreset;
using hardware::IslandKind;
using network::LinkKind;
using network::NodeId;
using network::Server;
using network::Topology;
using network::TopologyBuilder;
using network::Wire;

// A dragonfly whose hosts are the NICs of servers, filled in order of servers. Every two routers
// of a group are joined by a cable; router i of a group is joined to router i of every other
// group, by an even share of its cables to other groups.
struct ServerDragonfly {
  std::uint32_t num_servers = 0;
  std::uint32_t servers_per_router = 4;
  std::uint32_t routers_per_group = 32;
  std::uint32_t globals_per_router = 16;
  network::Server server{};
  network::Wire cable{};
};

Status CheckDragonfly(const ServerDragonfly& dragonfly) {
  ORRERY_TRY_STATUS(network::CheckServer(dragonfly.server));
  ORRERY_TRY_STATUS(network::CheckAtLeast("num_nics", dragonfly.server.num_nics, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("num_servers", dragonfly.num_servers, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("servers_per_router", dragonfly.servers_per_router, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("routers_per_group", dragonfly.routers_per_group, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("globals_per_router", dragonfly.globals_per_router, 1));
  return network::CheckGpuCount(std::uint64_t{dragonfly.num_servers} * dragonfly.server.num_gpus);
}

/// Groups are complete, so that paths over routers without servers exist.
std::uint32_t NumGroups(const ServerDragonfly& dragonfly) {
  const std::uint64_t servers_of_group =
      std::uint64_t{dragonfly.servers_per_router} * dragonfly.routers_per_group;
  return static_cast<std::uint32_t>((dragonfly.num_servers + servers_of_group - 1) /
                                    servers_of_group);
}

void JoinGroup(TopologyBuilder& builder, const ServerDragonfly& dragonfly, NodeId first) {
  for (std::uint32_t one = 0; one < dragonfly.routers_per_group; ++one) {
    for (std::uint32_t other = one + 1; other < dragonfly.routers_per_group; ++other) {
      builder.AddCable(first + one, first + other, dragonfly.cable);
    }
  }
}

void JoinGroups(TopologyBuilder& builder, const ServerDragonfly& dragonfly, NodeId first,
                std::uint32_t num_groups) {
  Wire wire = dragonfly.cable;
  wire.bandwidth.bytes_per_second *=
      static_cast<double>(dragonfly.globals_per_router) / (num_groups - 1);
  const std::uint32_t routers = dragonfly.routers_per_group;
  for (std::uint32_t one = 0; one < num_groups; ++one) {
    for (std::uint32_t other = one + 1; other < num_groups; ++other) {
      for (std::uint32_t router = 0; router < routers; ++router) {
        builder.AddCable(first + one * routers + router, first + other * routers + router, wire);
      }
    }
  }
}

Result<network::Topology> MakeServerDragonfly(const ServerDragonfly& dragonfly) {
  ORRERY_TRY_STATUS(CheckDragonfly(dragonfly));
  const std::uint32_t num_groups = NumGroups(dragonfly);
  TopologyBuilder builder;
  const NodeId first =
      network::AddSwitches(builder, num_groups * dragonfly.routers_per_group, "router");
  for (std::uint32_t number = 0; number < dragonfly.num_servers; ++number) {
    for (const NodeId port : network::AddServer(builder, dragonfly.server, number)) {
      builder.AddCable(port, first + number / dragonfly.servers_per_router, dragonfly.server.port);
    }
  }
  for (std::uint32_t group = 0; group < num_groups; ++group) {
    JoinGroup(builder, dragonfly, first + group * dragonfly.routers_per_group);
  }
  if (num_groups > 1) {
    JoinGroups(builder, dragonfly, first, num_groups);
  }
  return std::move(builder).Build();
}

/// Ports of a switch that the catalogue does not give.
constexpr std::uint32_t kDefaultRadix = 64;

std::int64_t HalfPs(Duration latency) {
  return latency.nanoseconds * 1000 / 2;
}

/// 16 lanes in one direction: 8 GT/s each in the third generation, doubled in every later one; 128
/// of 130 bits are data.
Bandwidth PcieOf(int generation) {
  return {std::ldexp(8e9 * 16 / 8 * 128 / 130, generation - 3)};
}

Wire IslandWire(const Cluster& cluster) {
  return {.bandwidth = cluster.island.per_gpu,
          .latency_ps = HalfPs(cluster.island.latency),
          .kind = cluster.island.kind == IslandKind::kPcie ? LinkKind::kPcie : LinkKind::kNvlink};
}

struct Islands {
  std::uint32_t count = 1;
  std::uint32_t nodes_in_each = 1;
  Server server{};
};

Islands IslandsOf(const Cluster& cluster, int nodes) {
  const int per_island = std::max(1, cluster.island.gpus / std::max(1, cluster.gpus_per_node));
  Islands islands;
  islands.nodes_in_each = static_cast<std::uint32_t>(std::min(per_island, nodes));
  islands.count =
      (static_cast<std::uint32_t>(nodes) + islands.nodes_in_each - 1) / islands.nodes_in_each;
  const auto gpus = static_cast<std::uint32_t>(cluster.gpus_per_node) * islands.nodes_in_each;
  const auto nics = static_cast<std::uint32_t>(cluster.nics.per_node) * islands.nodes_in_each;
  const double nics_of_gpu = std::max(1.0, static_cast<double>(nics) / gpus);
  const Bandwidth pcie = PcieOf(cluster.pcie_generation);
  islands.server = {
      .num_gpus = gpus,
      .num_nics = std::min(gpus, nics),
      .nvlink = IslandWire(cluster),
      // A GPU with several NICs does not reach all of them through its own slot.
      .pcie = {.bandwidth = {pcie.bytes_per_second * nics_of_gpu}, .kind = LinkKind::kPcie},
      .port = {.bandwidth = {cluster.nics.bandwidth.bytes_per_second * nics_of_gpu},
               .latency_ps = HalfPs(cluster.nics.latency)}};
  return islands;
}

std::uint32_t NumPorts(const Islands& islands) {
  return islands.count * islands.server.num_nics;
}

Result<Topology> OneIsland(const Cluster& cluster, const Islands& islands) {
  const Wire wire = IslandWire(cluster);
  const std::uint32_t gpus = islands.server.num_gpus;
  if (cluster.island.kind != IslandKind::kPcie || gpus % 4 != 0) {
    return network::MakeNvswitchIsland({.num_gpus = gpus, .nvlink = wire});
  }
  // Two CPUs with two switches each; uplinks and sockets are as wide as a slot.
  Wire uplink = wire;
  uplink.latency_ps = 0;
  Wire socket = uplink;
  socket.kind = LinkKind::kHostBus;
  return network::MakePcieTree(
      {.gpus_per_switch = gpus / 4, .slot = wire, .uplink = uplink, .socket = socket});
}

/// Doubles unknown switch ports until a fabric with these levels is large enough.
std::uint32_t RadixOf(const hardware::Fabric& fabric, std::uint32_t tiers, std::uint32_t ports) {
  if (fabric.radix > 0) {
    return static_cast<std::uint32_t>(fabric.radix);
  }
  std::uint32_t radix = kDefaultRadix;
  while (network::ClosPorts(tiers, radix, fabric.oversubscription) < ports) {
    radix *= 2;
  }
  return radix;
}

/// The fewest tiers of switches that have the ports.
std::uint32_t TiersOf(const hardware::Fabric& fabric, std::uint32_t ports) {
  if (fabric.levels > 0) {
    return static_cast<std::uint32_t>(fabric.levels);
  }
  const std::uint32_t radix =
      fabric.radix > 0 ? static_cast<std::uint32_t>(fabric.radix) : kDefaultRadix;
  if (ports <= radix) {
    return 1;
  }
  return network::ClosPorts(2, radix, fabric.oversubscription) >= ports ? 2 : 3;
}

Result<Topology> FatTreeOf(const Cluster& cluster, const Islands& islands) {
  const std::uint32_t tiers = TiersOf(cluster.fabric, NumPorts(islands));
  if (tiers == 1) {
    return network::MakeSingleSwitch({.num_servers = islands.count, .server = islands.server});
  }
  return network::MakeClos({.tiers = tiers,
                            .radix = RadixOf(cluster.fabric, tiers, NumPorts(islands)),
                            .oversubscription = cluster.fabric.oversubscription,
                            .num_servers = islands.count,
                            .server = islands.server,
                            .fabric = islands.server.port});
}

/// Enough spines for full bisection. Beyond two levels the upper two are merged: spines with a port
/// for every leaf, which are also non-blocking.
Result<Topology> RailsOf(const Cluster& cluster, const Islands& islands) {
  const auto radix =
      cluster.fabric.radix > 0 ? static_cast<std::uint32_t>(cluster.fabric.radix) : kDefaultRadix;
  const auto nodes_of_block = static_cast<std::uint32_t>(cluster.fabric.nodes_per_block);
  const std::uint32_t block =
      nodes_of_block > 0 ? std::max(1U, nodes_of_block / islands.nodes_in_each) : radix / 2;
  const auto up = static_cast<std::uint32_t>(
      std::max(1.0, std::round(std::min(block, islands.count) / cluster.fabric.oversubscription)));
  const std::uint32_t leaves = (islands.count + block - 1) / block * islands.server.num_nics;
  // A spine has several cables to a leaf as far as its ports suffice.
  const std::uint32_t cables = std::bit_floor(std::max(1U, radix / leaves));
  const bool fits = up % cables == 0;
  return network::MakeRailOptimised({.num_servers = islands.count,
                                     .servers_per_block = block,
                                     .num_spines = fits ? up / cables : up,
                                     .cables_per_spine = fits ? cables : 1,
                                     .server = islands.server,
                                     .fabric = islands.server.port});
}

Result<Topology> DragonflyOf(const Cluster& cluster, const Islands& islands) {
  const hardware::Fabric& fabric = cluster.fabric;
  const auto hosts = static_cast<std::uint32_t>(std::max(1, fabric.hosts_per_router));
  const auto globals = static_cast<std::uint32_t>(fabric.globals_per_router);
  return MakeServerDragonfly(
      {.num_servers = islands.count,
       .servers_per_router = std::max(1U, hosts / std::max(1U, islands.server.num_nics)),
       .routers_per_group = static_cast<std::uint32_t>(std::max(1, fabric.routers_per_group)),
       // As many cables to other groups as hosts: a balanced dragonfly.
       .globals_per_router = globals > 0 ? globals : hosts,
       .server = islands.server,
       .cable = islands.server.port});
}

Status CheckNodes(const Cluster& cluster, int nodes) {
  if (nodes < 1) {
    return Invalid("a topology needs at least one node: {}", nodes);
  }
  if (cluster.nodes > 0 && nodes > cluster.nodes) {
    return Invalid("{} has {} nodes, fewer than {}", cluster.name, cluster.nodes, nodes);
  }
  return {};
}

}  // namespace

Result<Topology> TopologyOf(const Cluster& cluster, int nodes) {
  ORRERY_TRY_STATUS(CheckNodes(cluster, nodes));
  const Islands islands = IslandsOf(cluster, nodes);
  if (islands.count == 1) {
    return OneIsland(cluster, islands);
  }
  switch (cluster.fabric.preset) {
    case FabricPreset::kSingleSwitch:
      return network::MakeSingleSwitch({.num_servers = islands.count, .server = islands.server});
    case FabricPreset::kFatTree:
      return FatTreeOf(cluster, islands);
    case FabricPreset::kRailOptimised:
      return RailsOf(cluster, islands);
    case FabricPreset::kDragonfly:
      return DragonflyOf(cluster, islands);
    case FabricPreset::kNone:
      break;
  }
  return Invalid("{} has no network to join {} nodes", cluster.name, nodes);
}

}  // namespace orrery::collective
