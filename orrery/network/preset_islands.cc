#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "orrery/base/error.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"

namespace orrery::network {
namespace {

constexpr std::uint64_t kMostGpus = 4'000'000;

std::vector<NodeId> AddGpus(TopologyBuilder& builder, std::uint32_t count) {
  std::vector<NodeId> gpus;
  for (std::uint32_t i = 0; i < count; ++i) {
    gpus.push_back(builder.AddGpu(fmt::format("gpu{}", builder.num_gpus())));
  }
  return gpus;
}

// One node for each port; the GPUs that a NIC serves are joined to all its ports.
void AddNic(TopologyBuilder& builder, const Server& server, std::string_view name,
            std::span<const NodeId> gpus, ServerPorts& ports) {
  Wire pcie = server.pcie;
  pcie.bandwidth.bytes_per_second /= server.ports_per_nic;
  for (std::uint32_t port = 0; port < server.ports_per_nic; ++port) {
    const NodeId node = builder.AddNode(NodeKind::kNic, server.ports_per_nic == 1
                                                            ? std::string(name)
                                                            : fmt::format("{}p{}", name, port));
    for (const NodeId gpu : gpus) {
      builder.AddCable(gpu, node, pcie);
    }
    ports.push_back(node);
  }
}

struct MeshEdge {
  std::uint32_t one;
  std::uint32_t other;
  double cables;
};

constexpr std::array<MeshEdge, 16> kCubeMeshEdges{{
    {0, 1, 1},
    {0, 2, 1},
    {0, 3, 2},
    {0, 4, 2},
    {1, 2, 2},
    {1, 3, 1},
    {1, 5, 2},
    {2, 3, 2},
    {2, 6, 1},
    {3, 7, 1},
    {4, 5, 1},
    {4, 6, 1},
    {4, 7, 2},
    {5, 6, 2},
    {5, 7, 1},
    {6, 7, 2},
}};

void AddPcieSwitch(TopologyBuilder& builder, const PcieTree& tree, NodeId cpu,
                   std::uint32_t number) {
  const NodeId pcie_switch = builder.AddNode(NodeKind::kSwitch, fmt::format("pcie{}", number));
  builder.AddCable(pcie_switch, cpu, tree.uplink);
  for (const NodeId gpu : AddGpus(builder, tree.gpus_per_switch)) {
    builder.AddCable(gpu, pcie_switch, tree.slot);
  }
  for (std::uint32_t nic = 0; nic < tree.nics_per_switch; ++nic) {
    builder.AddCable(builder.AddNode(NodeKind::kNic, fmt::format("nic{}.{}", number, nic)),
                     pcie_switch, tree.slot);
  }
}

}  // namespace

ServerPorts AddServer(TopologyBuilder& builder, const Server& server, std::uint32_t number) {
  std::vector<NodeId> gpus = AddGpus(builder, server.num_gpus);
  if (server.num_gpus > 1) {
    const NodeId nvswitch = builder.AddNode(NodeKind::kSwitch, fmt::format("nvswitch{}", number));
    for (const NodeId gpu : gpus) {
      builder.AddCable(gpu, nvswitch, server.nvlink);
    }
  }
  if (server.num_nics == 0) {
    return gpus;
  }
  ServerPorts ports;
  const std::uint32_t gpus_per_nic = server.num_gpus / server.num_nics;
  for (std::uint32_t nic = 0; nic < server.num_nics; ++nic) {
    AddNic(builder, server, fmt::format("nic{}.{}", number, nic),
           std::span(gpus).subspan(std::size_t{nic} * gpus_per_nic, gpus_per_nic), ports);
  }
  return ports;
}

std::uint32_t PortsOfServer(const Server& server) {
  return server.num_nics == 0 ? server.num_gpus : server.num_nics * server.ports_per_nic;
}

Status CheckServer(const Server& server) {
  ORRERY_TRY_STATUS(CheckAtLeast("num_gpus", server.num_gpus, 1));
  ORRERY_TRY_STATUS(CheckAtLeast("ports_per_nic", server.ports_per_nic, 1));
  if (server.num_nics != 0 && server.num_gpus % server.num_nics != 0) {
    return Invalid("the NICs of a server must divide its {} GPUs: {}", server.num_gpus,
                   server.num_nics);
  }
  return {};
}

Status CheckAtLeast(std::string_view name, std::uint64_t value, std::uint64_t least) {
  if (value >= least) {
    return {};
  }
  return Invalid("{} must be at least {}: {}", name, least, value);
}

Status CheckGpuCount(std::uint64_t num_gpus) {
  if (num_gpus <= kMostGpus) {
    return {};
  }
  return Fail(Error::Kind::kLimit,
              fmt::format("a topology has at most {} GPUs, not {}", kMostGpus, num_gpus));
}

NodeId AddSwitches(TopologyBuilder& builder, std::uint32_t count, std::string_view prefix) {
  const NodeId first = builder.num_nodes();
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.AddNode(NodeKind::kSwitch, fmt::format("{}{}", prefix, i));
  }
  return first;
}

Result<Topology> MakeNvswitchIsland(const NvswitchIsland& island) {
  ORRERY_TRY_STATUS(CheckAtLeast("num_gpus", island.num_gpus, 1));
  ORRERY_TRY_STATUS(CheckGpuCount(island.num_gpus));
  TopologyBuilder builder;
  AddServer(builder, {.num_gpus = island.num_gpus, .num_nics = 0, .nvlink = island.nvlink}, 0);
  return std::move(builder).Build();
}

Result<Topology> MakeNvlinkPairs(const NvlinkPairs& pairs) {
  ORRERY_TRY_STATUS(CheckAtLeast("num_gpus", pairs.num_gpus, 2));
  ORRERY_TRY_STATUS(CheckGpuCount(pairs.num_gpus));
  if (pairs.num_gpus % 2 != 0) {
    return Invalid("pairs need an even number of GPUs: {}", pairs.num_gpus);
  }
  TopologyBuilder builder;
  const std::vector<NodeId> gpus = AddGpus(builder, pairs.num_gpus);
  const NodeId pcie_switch = builder.AddNode(NodeKind::kSwitch, "pcie0");
  for (std::size_t gpu = 0; gpu < gpus.size(); ++gpu) {
    builder.AddCable(gpus[gpu], pcie_switch, pairs.pcie);
    if (gpu % 2 == 1) {
      builder.AddCable(gpus[gpu - 1], gpus[gpu], pairs.nvlink);
    }
  }
  return std::move(builder).Build();
}

Result<Topology> MakeCubeMesh(const CubeMesh& mesh) {
  TopologyBuilder builder;
  const std::vector<NodeId> gpus = AddGpus(builder, 8);
  for (const MeshEdge& edge : kCubeMeshEdges) {
    Wire wire = mesh.nvlink;
    wire.bandwidth.bytes_per_second *= edge.cables;
    builder.AddCable(gpus[edge.one], gpus[edge.other], wire);
  }
  builder.SetGpusForward(true);
  return std::move(builder).Build();
}

Result<Topology> MakePcieTree(const PcieTree& tree) {
  ORRERY_TRY_STATUS(CheckAtLeast("num_cpus", tree.num_cpus, 1));
  ORRERY_TRY_STATUS(CheckAtLeast("switches_per_cpu", tree.switches_per_cpu, 1));
  ORRERY_TRY_STATUS(CheckGpuCount(std::uint64_t{tree.num_cpus} * tree.switches_per_cpu *
                                  (tree.gpus_per_switch + tree.nics_per_switch + 1)));
  TopologyBuilder builder;
  std::vector<NodeId> cpus;
  for (std::uint32_t cpu = 0; cpu < tree.num_cpus; ++cpu) {
    cpus.push_back(builder.AddNode(NodeKind::kHost, fmt::format("cpu{}", cpu)));
    if (cpu > 0) {
      builder.AddCable(cpus[cpu - 1], cpus[cpu], tree.socket);
    }
    for (std::uint32_t i = 0; i < tree.switches_per_cpu; ++i) {
      AddPcieSwitch(builder, tree, cpus[cpu], cpu * tree.switches_per_cpu + i);
    }
  }
  return std::move(builder).Build();
}

}  // namespace orrery::network
