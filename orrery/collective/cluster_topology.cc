#include "orrery/collective/cluster_topology.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <vector>

#include <fmt/format.h>

#include "orrery/collective/server_dragonfly.h"
#include "orrery/network/presets.h"

namespace orrery::collective {

namespace {

using hardware::Cluster;
using hardware::FabricPreset;
using hardware::IslandKind;
using network::LinkKind;
using network::Server;
using network::Topology;
using network::Wire;

/// Ports of a switch when the catalogue does not know: what most have.
constexpr std::uint32_t kUsualRadix = 64;

std::int64_t HalfPs(Duration latency) {
  return latency.nanoseconds * 1000 / 2;
}

/// 16 lanes in one direction: 8 GT/s each in the third generation, doubled in every later one, of
/// which 128 of 130 bits are data.
Bandwidth PcieOf(int generation) {
  return {std::ldexp(8e9 * 16 / 8 * 128 / 130, generation - 3)};
}

Wire IslandWire(const Cluster& cluster) {
  return {.bandwidth = cluster.island.per_gpu,
          .latency_ps = HalfPs(cluster.island.latency),
          .kind = cluster.island.kind == IslandKind::kPcie ? LinkKind::kPcie : LinkKind::kNvlink};
}

/// Islands are what the presets of the network repeat.
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
      // A GPU with several NICs does not reach them all over its own slot.
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

/// Doubles the ports of a switch that nobody knows until a fabric of the levels is large enough.
std::uint32_t RadixOf(const hardware::Fabric& fabric, std::uint32_t tiers, std::uint32_t ports) {
  if (fabric.radix > 0) {
    return static_cast<std::uint32_t>(fabric.radix);
  }
  std::uint32_t radix = kUsualRadix;
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
      fabric.radix > 0 ? static_cast<std::uint32_t>(fabric.radix) : kUsualRadix;
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

/// As many spines as full bisection needs. Beyond two levels the upper two are one: spines with
/// a port for every leaf, which block as little.
Result<Topology> RailsOf(const Cluster& cluster, const Islands& islands) {
  const auto radix =
      cluster.fabric.radix > 0 ? static_cast<std::uint32_t>(cluster.fabric.radix) : kUsualRadix;
  const auto nodes_of_block = static_cast<std::uint32_t>(cluster.fabric.nodes_per_block);
  const std::uint32_t block =
      nodes_of_block > 0 ? std::max(1U, nodes_of_block / islands.nodes_in_each) : radix / 2;
  const auto up = static_cast<std::uint32_t>(
      std::max(1.0, std::round(std::min(block, islands.count) / cluster.fabric.oversubscription)));
  const std::uint32_t leaves = (islands.count + block - 1) / block * islands.server.num_nics;
  // A spine takes several cables of a leaf as long as its ports suffice.
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
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a topology needs at least one node: {}", nodes));
  }
  if (cluster.nodes > 0 && nodes > cluster.nodes) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} has {} nodes, fewer than {}", cluster.name, cluster.nodes, nodes));
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
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{} has no network to join {} nodes", cluster.name, nodes));
}

}  // namespace orrery::collective
