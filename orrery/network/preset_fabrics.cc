#include <cmath>
#include <numeric>
#include <utility>

#include <fmt/format.h>

#include "orrery/network/preset_parts.h"
#include "orrery/network/presets.h"

namespace orrery::network {
namespace {

// How the ports of the switches of a Clos are used.
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
    return Fail(Error::Kind::kInvalidInput, fmt::format("a Clos has 2 or 3 tiers: {}", clos.tiers));
  }
  if (clos.radix < 2 || clos.radix % 2 != 0 || clos.radix > 1024) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("radix must be even and from 2 to 1024: {}", clos.radix));
  }
  if (!(clos.oversubscription >= 1) ||
      ShapeOf(clos.tiers, clos.radix, clos.oversubscription).leaf_up == 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("oversubscription must be at least 1 and leave ports up: {}",
                            clos.oversubscription));
  }
  return CheckServer(clos.server);
}

// How many servers to build.
Result<std::uint32_t> NumServers(const Clos& clos) {
  const std::uint64_t ports = ClosPorts(clos.tiers, clos.radix, clos.oversubscription);
  const std::uint64_t most = ports / PortsOfServer(clos.server);
  if (clos.num_servers > most || most == 0) {
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} servers of {} ports do not fit the {} ports of this Clos; raise "
                            "radix or tiers",
                            clos.num_servers, PortsOfServer(clos.server), ports));
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
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("a fat tree needs one arity down and one up for each of 1 to 8 levels: "
                            "{} and {}",
                            tree.down.size(), tree.up.size()));
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

}  // namespace orrery::network
