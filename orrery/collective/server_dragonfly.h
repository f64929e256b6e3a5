#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/network/presets.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// A dragonfly whose hosts are the NICs of servers, filled in order of servers. Every two routers
/// of a group are joined by a cable; router i of a group is joined to router i of every other
/// group, by an even share of its cables to other groups.
struct ServerDragonfly {
  std::uint32_t num_servers = 0;
  std::uint32_t servers_per_router = 4;
  std::uint32_t routers_per_group = 32;
  std::uint32_t globals_per_router = 16;
  network::Server server{};
  network::Wire cable{};
};

/// Fails when a server has no NIC or nothing is to be built.
[[nodiscard]] Result<network::Topology> MakeServerDragonfly(const ServerDragonfly& dragonfly);

}  // namespace orrery::collective
