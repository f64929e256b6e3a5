#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"

/// Common parts of the presets.
namespace orrery::network {

/// The network ports of a server: the nodes of its ports, NIC by NIC, plane by plane. GPUs
/// themselves when it has no NICs.
using ServerPorts = std::vector<NodeId>;

/// Adds the GPUs, the NVSwitch and the NICs of one server.
ServerPorts AddServer(TopologyBuilder& builder, const Server& server, std::uint32_t number);

[[nodiscard]] std::uint32_t PortsOfServer(const Server& server);

/// Fails when a server has no GPU or its NICs do not divide its GPUs.
[[nodiscard]] Status CheckServer(const Server& server);

/// Fails unless `value` is at least `least`: "servers_per_block must be at least 1: 0".
[[nodiscard]] Status CheckAtLeast(std::string_view name, std::uint64_t value, std::uint64_t least);

/// Fails when a preset would have more GPUs than a topology is meant for.
[[nodiscard]] Status CheckGpuCount(std::uint64_t num_gpus);

/// Adds `count` switches called prefix0, prefix1, … and returns the first.
NodeId AddSwitches(TopologyBuilder& builder, std::uint32_t count, std::string_view prefix);

}  // namespace orrery::network
