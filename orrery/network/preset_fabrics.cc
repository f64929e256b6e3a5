#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

// The use of the switch ports of a Clos.
struct ClosShape {
  std::uint32_t leaf_down = 0;
  std::uint32_t leaf_up = 0;
  std::uint32_t leaves_per_pod = 0;  // all leaves are one pod in two tiers
  std::uint32_t most_pods = 1;
  std::uint32_t half = 0;  // of the radix: ports up of a middle switch, in three tiers
};

ClosShape ShapeOf(std::uint32_t tiers, std::uint32_t radix, double oversubscription) {
  ClosShape shape;
  shape.half = radix / 2;
  shape.leaf_down =
      static_cast<std::uint32_t>(std::lround(radix * oversubscription / (1 + oversubscription)));
  shape.leaf_up = radix - shape.leaf_down;
  shape.leaves_per_pod = tiers == 2 ? radix : shape.half;
  shape.most_pods = tiers == 2 ? 1 : radix;
  return shape;
}

Status CheckClos(const Clos& clos) {
  if (clos.tiers != 2 && clos.tiers != 3) {
    return Invalid("a Clos has 2 or 3 tiers: {}", clos.tiers);
  }
  if (clos.radix < 2 || clos.radix % 2 != 0 || clos.radix > 1024) {
    return Invalid("radix must be even and from 2 to 1024: {}", clos.radix);
  }
  if (!(clos.oversubscription >= 1) ||
      ShapeOf(clos.tiers, clos.radix, clos.oversubscription).leaf_up == 0) {
    return Invalid("oversubscription must be at least 1 and leave ports up: {}",
                   clos.oversubscription);
  }
  return CheckServer(clos.server);
}

Result<std::uint32_t> NumServers(const Clos& clos) {
  const std::uint64_t ports = ClosPorts(clos.tiers, clos.radix, clos.oversubscription);
  const std::uint64_t most = ports / PortsOfServer(clos.server);
  if (clos.num_servers > most || most == 0) {
    return Invalid(
        "{} servers of {} ports do not fit the {} ports of this Clos; raise "
        "radix or tiers",
        clos.num_servers, PortsOfServer(clos.server), ports);
  }
  const std::uint64_t servers = clos.num_servers == 0 ? most : clos.num_servers;
  ORRERY_TRY_STATUS(CheckGpuCount(servers * clos.server.num_gpus));
  return static_cast<std::uint32_t>(servers);
}

// Every leaf of a pod to every one of its middle switches (in two tiers: the spines).
void JoinPod(TopologyBuilder& builder, NodeId first_leaf, std::uint32_t num_leaves,
             NodeId first_middle, std::uint32_t num_middle, const Wire& wire) {
  for (std::uint32_t leaf = 0; leaf < num_leaves; ++leaf) {
    for (std::uint32_t middle = 0; middle < num_middle; ++middle) {
      builder.AddCable(first_leaf + leaf, first_middle + middle, wire);
    }
  }
}

// Middle switch i of every pod to the cores of group i.
void JoinCores(TopologyBuilder& builder, const ClosShape& shape, std::span<const NodeId> middles,
               const Wire& wire) {
  const NodeId cores = AddSwitches(builder, shape.leaf_up * shape.half, "core");
  for (const NodeId first_middle : middles) {
    for (std::uint32_t i = 0; i < shape.leaf_up; ++i) {
      JoinPod(builder, first_middle + i, 1, cores + i * shape.half, shape.half, wire);
    }
  }
}

// Switches above `num_leaves` leaves; as many pods as they need.
void AddFabric(TopologyBuilder& builder, const Clos& clos, const ClosShape& shape,
               NodeId first_leaf, std::uint32_t num_leaves) {
  if (num_leaves < 2) {
    return;
  }
  std::vector<NodeId> middles;
  for (std::uint32_t leaf = 0; leaf < num_leaves; leaf += shape.leaves_per_pod) {
    middles.push_back(AddSwitches(
        builder, shape.leaf_up,
        clos.tiers == 2 ? std::string("spine") : fmt::format("pod{}.", middles.size())));
    JoinPod(builder, first_leaf + leaf, std::min(shape.leaves_per_pod, num_leaves - leaf),
            middles.back(), shape.leaf_up, clos.fabric);
  }
  if (middles.size() > 1) {
    JoinCores(builder, shape, middles, clos.fabric);
  }
}

// Number of nodes of a level of a fat tree; hosts are level 0.
std::uint64_t NodesOfLevel(const FatTree& tree, std::size_t level) {
  std::uint64_t nodes = 1;
  for (std::size_t i = 0; i < tree.down.size(); ++i) {
    nodes *= i < level ? tree.up[i] : tree.down[i];
  }
  return nodes;
}

Status CheckFatTree(const FatTree& tree) {
  if (tree.down.empty() || tree.down.size() != tree.up.size() || tree.down.size() > 8) {
    return Invalid(
        "a fat tree needs one arity down and one up for each of 1 to 8 levels: "
        "{} and {}",
        tree.down.size(), tree.up.size());
  }
  for (std::size_t level = 0; level < tree.down.size(); ++level) {
    ORRERY_TRY_STATUS(CheckAtLeast("down", tree.down[level], 1));
    ORRERY_TRY_STATUS(CheckAtLeast("up", tree.up[level], 1));
    ORRERY_TRY_STATUS(CheckGpuCount(std::max(tree.down[level], tree.up[level])));
    ORRERY_TRY_STATUS(CheckGpuCount(NodesOfLevel(tree, level)));
  }
  return {};
}

// A node of a level is known by which of the down[] choices of the levels above it belongs to
// (`subtree`) and by which of the up[] choices below it (`plane`): number = subtree · planes +
// plane.
void JoinLevel(TopologyBuilder& builder, const FatTree& tree, std::size_t level, NodeId first_child,
               NodeId first_parent) {
  std::uint64_t planes = 1;
  for (std::size_t i = 0; i < level; ++i) {
    planes *= tree.up[i];
  }
  const std::uint64_t children = NodesOfLevel(tree, level);
  for (std::uint64_t child = 0; child < children; ++child) {
    const std::uint64_t subtree = child / planes / tree.down[level];
    for (std::uint64_t choice = 0; choice < tree.up[level]; ++choice) {
      const std::uint64_t parent =
          subtree * planes * tree.up[level] + child % planes + planes * choice;
      builder.AddCable(static_cast<NodeId>(first_child + child),
                       static_cast<NodeId>(first_parent + parent),
                       level == 0 ? tree.host : tree.fabric);
    }
  }
}

// Blocks of servers, each with leaves of its own; `leaves_per_block` are joined to the ports of a
// server by `leaf_of_port`.
struct Blocks {
  std::uint32_t num_servers = 0;
  std::uint32_t servers_per_block = 0;
  std::uint32_t leaves_per_block = 0;

  std::uint32_t num_blocks() const {
    return (num_servers + servers_per_block - 1) / servers_per_block;
  }
};

Status CheckBlocks(const Blocks& blocks, const Server& server, std::uint32_t num_spines) {
  ORRERY_TRY_STATUS(CheckServer(server));
  ORRERY_TRY_STATUS(CheckAtLeast("num_nics", server.num_nics, 1));
  ORRERY_TRY_STATUS(CheckAtLeast("num_servers", blocks.num_servers, 1));
  ORRERY_TRY_STATUS(CheckAtLeast("servers_per_block", blocks.servers_per_block, 1));
  ORRERY_TRY_STATUS(CheckGpuCount(std::uint64_t{blocks.num_servers} * server.num_gpus));
  if (num_spines == 0 && blocks.num_blocks() > 1) {
    return Invalid(
        "{} blocks need spines to meet; raise the number of spines or "
        "servers_per_block",
        blocks.num_blocks());
  }
  return {};
}

// Adds leaves and servers; port i of a server goes to leaf i % leaves_per_block of its block, which
// are rails when a block has a leaf for each port and planes when it has one for each plane.
// Returns the first leaf.
NodeId AddBlocks(TopologyBuilder& builder, const Blocks& blocks, const Server& server) {
  const NodeId first_leaf =
      AddSwitches(builder, blocks.num_blocks() * blocks.leaves_per_block, "leaf");
  for (std::uint32_t number = 0; number < blocks.num_servers; ++number) {
    const NodeId leaf = first_leaf + number / blocks.servers_per_block * blocks.leaves_per_block;
    std::uint32_t next = 0;
    for (const NodeId port : AddServer(builder, server, number)) {
      builder.AddCable(port, leaf + next++ % blocks.leaves_per_block, server.port);
    }
  }
  return first_leaf;
}

void JoinGroup(TopologyBuilder& builder, NodeId first_router, std::uint32_t num_routers,
               const Wire& wire) {
  for (std::uint32_t one = 0; one < num_routers; ++one) {
    for (std::uint32_t other = one + 1; other < num_routers; ++other) {
      builder.AddCable(first_router + one, first_router + other, wire);
    }
  }
}

// Global port k of a group leads to the group k + 1 further on, where it arrives at port
// groups - 2 - k; router k / h has port k.
void JoinGroups(TopologyBuilder& builder, const DragonflyShape& shape, const Wire& wire) {
  const std::uint32_t groups = shape.num_groups;
  const std::uint32_t globals = (groups - 1) / shape.routers_per_group;
  for (std::uint32_t group = 0; group < groups; ++group) {
    for (std::uint32_t port = 0; group + port + 1 < groups; ++port) {
      const std::uint32_t other = group + port + 1;
      const std::uint32_t other_port = groups - 2 - port;
      builder.AddCable(shape.first_router + group * shape.routers_per_group + port / globals,
                       shape.first_router + other * shape.routers_per_group + other_port / globals,
                       wire);
    }
  }
}

void JoinSide(TopologyBuilder& builder, std::uint32_t num_gpus, std::uint32_t stride,
              std::uint32_t side, const Wire& wire) {
  for (NodeId node = 0; node < num_gpus; ++node) {
    const std::uint32_t at = node / stride % side;
    if (at + 1 < side) {
      builder.AddCable(node, node + stride, wire);
    } else if (side > 2) {
      builder.AddCable(node, node - at * stride, wire);
    }
  }
}

}  // namespace

Server BareHost(const Wire& port) {
  return {.num_gpus = 1, .num_nics = 0, .port = port};
}

Result<Topology> MakeSingleSwitch(const SingleSwitch& pod) {
  ORRERY_TRY_STATUS(CheckAtLeast("num_servers", pod.num_servers, 1));
  ORRERY_TRY_STATUS(CheckServer(pod.server));
  ORRERY_TRY_STATUS(CheckGpuCount(std::uint64_t{pod.num_servers} * pod.server.num_gpus));
  TopologyBuilder builder;
  const NodeId leaf = AddSwitches(builder, 1, "leaf");
  for (std::uint32_t number = 0; number < pod.num_servers; ++number) {
    for (const NodeId port : AddServer(builder, pod.server, number)) {
      builder.AddCable(port, leaf, pod.server.port);
    }
  }
  return std::move(builder).Build();
}

std::uint64_t ClosPorts(std::uint32_t tiers, std::uint32_t radix, double oversubscription) {
  const ClosShape shape = ShapeOf(tiers, radix, oversubscription);
  return std::uint64_t{shape.leaf_down} * shape.leaves_per_pod * shape.most_pods;
}

Result<Topology> MakeClos(const Clos& clos) {
  ORRERY_TRY_STATUS(CheckClos(clos));
  ORRERY_TRY(const std::uint32_t num_servers, NumServers(clos));
  const ClosShape shape = ShapeOf(clos.tiers, clos.radix, clos.oversubscription);
  const std::uint64_t ports = std::uint64_t{num_servers} * PortsOfServer(clos.server);
  const auto num_leaves =
      static_cast<std::uint32_t>((ports + shape.leaf_down - 1) / shape.leaf_down);
  TopologyBuilder builder;
  const NodeId first_leaf = AddSwitches(builder, num_leaves, "leaf");
  std::uint32_t next_port = 0;
  for (std::uint32_t number = 0; number < num_servers; ++number) {
    for (const NodeId port : AddServer(builder, clos.server, number)) {
      builder.AddCable(port, first_leaf + next_port++ / shape.leaf_down, clos.server.port);
    }
  }
  AddFabric(builder, clos, shape, first_leaf, num_leaves);
  return std::move(builder).Build();
}

Result<Topology> MakeFatTree(const FatTree& tree) {
  ORRERY_TRY_STATUS(CheckFatTree(tree));
  TopologyBuilder builder;
  const auto num_hosts = static_cast<std::uint32_t>(NodesOfLevel(tree, 0));
  for (std::uint32_t host = 0; host < num_hosts; ++host) {
    builder.AddGpu(fmt::format("gpu{}", host));
  }
  NodeId children = 0;
  for (std::size_t level = 0; level < tree.down.size(); ++level) {
    ORRERY_TRY_STATUS(CheckGpuCount(NodesOfLevel(tree, level + 1)));
    const NodeId parents =
        AddSwitches(builder, static_cast<std::uint32_t>(NodesOfLevel(tree, level + 1)),
                    fmt::format("level{}.", level + 1));
    JoinLevel(builder, tree, level, children, parents);
    children = parents;
  }
  return std::move(builder).Build();
}

Result<Topology> MakeRailOptimised(const RailOptimised& rails) {
  const Blocks blocks{.num_servers = rails.num_servers,
                      .servers_per_block = rails.servers_per_block,
                      .leaves_per_block = PortsOfServer(rails.server)};
  ORRERY_TRY_STATUS(CheckBlocks(blocks, rails.server, rails.num_spines));
  TopologyBuilder builder;
  const NodeId first_leaf = AddBlocks(builder, blocks, rails.server);
  const NodeId first_spine = AddSwitches(builder, rails.num_spines, "spine");
  Wire wire = rails.fabric;
  wire.bandwidth.bytes_per_second *= rails.cables_per_spine;
  JoinPod(builder, first_leaf, blocks.num_blocks() * blocks.leaves_per_block, first_spine,
          rails.num_spines, wire);
  return std::move(builder).Build();
}

Result<Topology> MakeMultiPlane(const MultiPlane& planes) {
  const std::uint32_t num_planes = planes.server.ports_per_nic;
  const Blocks blocks{.num_servers = planes.num_servers,
                      .servers_per_block = planes.servers_per_block,
                      .leaves_per_block = num_planes};
  ORRERY_TRY_STATUS(CheckBlocks(blocks, planes.server, planes.spines_per_plane));
  TopologyBuilder builder;
  const NodeId first_leaf = AddBlocks(builder, blocks, planes.server);
  const std::uint32_t num_spines = planes.spines_per_plane * num_planes;
  const NodeId first_spine = AddSwitches(builder, num_spines, "spine");
  for (std::uint32_t leaf = 0; leaf < blocks.num_blocks() * num_planes; ++leaf) {
    for (std::uint32_t spine = 0; spine < num_spines; ++spine) {
      if (planes.planes_share_spines || spine % num_planes == leaf % num_planes) {
        builder.AddCable(first_leaf + leaf, first_spine + spine, planes.fabric);
      }
    }
  }
  return std::move(builder).Build();
}

Result<Topology> MakeDragonfly(const Dragonfly& dragonfly) {
  ORRERY_TRY_STATUS(CheckAtLeast("hosts_per_router", dragonfly.hosts_per_router, 1));
  ORRERY_TRY_STATUS(CheckAtLeast("routers_per_group", dragonfly.routers_per_group, 1));
  ORRERY_TRY_STATUS(CheckAtLeast("globals_per_router", dragonfly.globals_per_router, 1));
  const std::uint64_t groups =
      std::uint64_t{dragonfly.routers_per_group} * dragonfly.globals_per_router + 1;
  ORRERY_TRY_STATUS(CheckGpuCount(groups));
  ORRERY_TRY_STATUS(CheckGpuCount(groups * dragonfly.routers_per_group));
  ORRERY_TRY_STATUS(
      CheckGpuCount(groups * dragonfly.routers_per_group * dragonfly.hosts_per_router));
  const DragonflyShape shape{.hosts_per_router = dragonfly.hosts_per_router,
                             .routers_per_group = dragonfly.routers_per_group,
                             .num_groups = static_cast<std::uint32_t>(groups)};
  TopologyBuilder builder;
  const std::uint32_t num_routers = shape.num_groups * shape.routers_per_group;
  AddSwitches(builder, num_routers, "router");
  for (NodeId router = 0; router < num_routers; ++router) {
    for (std::uint32_t host = 0; host < shape.hosts_per_router; ++host) {
      builder.AddCable(builder.AddGpu(fmt::format("gpu{}", builder.num_gpus())), router,
                       dragonfly.host);
    }
  }
  for (std::uint32_t group = 0; group < shape.num_groups; ++group) {
    JoinGroup(builder, group * shape.routers_per_group, shape.routers_per_group, dragonfly.local);
  }
  JoinGroups(builder, shape, dragonfly.global);
  builder.SetDragonfly(shape);
  return std::move(builder).Build();
}

Result<Topology> MakeTorus(const Torus& torus) {
  ORRERY_TRY_STATUS(CheckAtLeast("number of sides", torus.sides.size(), 1));
  std::uint64_t num_gpus = 1;
  for (const std::uint32_t side : torus.sides) {
    ORRERY_TRY_STATUS(CheckAtLeast("side of a torus", side, 1));
    num_gpus *= side;
    ORRERY_TRY_STATUS(CheckGpuCount(num_gpus));
  }
  TopologyBuilder builder;
  for (std::uint64_t gpu = 0; gpu < num_gpus; ++gpu) {
    builder.AddGpu(fmt::format("gpu{}", gpu));
  }
  std::uint32_t stride = 1;
  for (const std::uint32_t side : torus.sides) {
    JoinSide(builder, static_cast<std::uint32_t>(num_gpus), stride, side, torus.wire);
    stride *= side;
  }
  builder.SetGpusForward(true);
  builder.SetTorus({torus.sides});
  return std::move(builder).Build();
}

}  // namespace orrery::network
