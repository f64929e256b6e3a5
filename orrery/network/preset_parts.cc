#include "orrery/network/preset_parts.h"

#include <fmt/format.h>

namespace orrery::network {
namespace {

constexpr std::uint64_t kMostGpus = 4'000'000;

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

}  // namespace

ServerPorts AddServer(TopologyBuilder& builder, const Server& server, std::uint32_t number) {
  std::vector<NodeId> gpus;
  for (std::uint32_t i = 0; i < server.num_gpus; ++i) {
    gpus.push_back(builder.AddGpu(fmt::format("gpu{}", builder.num_gpus())));
  }
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
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("the NICs of a server must divide its {} GPUs: {}", server.num_gpus,
                            server.num_nics));
  }
  return {};
}

Status CheckAtLeast(std::string_view name, std::uint64_t value, std::uint64_t least) {
  if (value >= least) {
    return {};
  }
  return Fail(Error::Kind::kInvalidInput,
              fmt::format("{} must be at least {}: {}", name, least, value));
}

Status CheckGpuCount(std::uint64_t num_gpus) {
  if (num_gpus <= kMostGpus) {
    return {};
  }
  return Fail(
      Error::Kind::kLimit,
      fmt::format("a topology has at most {} GPUs; ask for fewer than {}", kMostGpus, num_gpus));
}

NodeId AddSwitches(TopologyBuilder& builder, std::uint32_t count, std::string_view prefix) {
  const NodeId first = builder.num_nodes();
  for (std::uint32_t i = 0; i < count; ++i) {
    builder.AddNode(NodeKind::kSwitch, fmt::format("{}{}", prefix, i));
  }
  return first;
}

}  // namespace orrery::network
