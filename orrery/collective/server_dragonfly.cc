#include "orrery/collective/server_dragonfly.h"

#include <utility>

#include "orrery/network/preset_parts.h"

namespace orrery::collective {

namespace {

using network::NodeId;
using network::TopologyBuilder;
using network::Wire;

Status Check(const ServerDragonfly& dragonfly) {
  ORRERY_TRY_STATUS(network::CheckServer(dragonfly.server));
  ORRERY_TRY_STATUS(network::CheckAtLeast("num_nics", dragonfly.server.num_nics, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("num_servers", dragonfly.num_servers, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("servers_per_router", dragonfly.servers_per_router, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("routers_per_group", dragonfly.routers_per_group, 1));
  ORRERY_TRY_STATUS(network::CheckAtLeast("globals_per_router", dragonfly.globals_per_router, 1));
  return network::CheckGpuCount(std::uint64_t{dragonfly.num_servers} * dragonfly.server.num_gpus);
}

/// Groups are whole, so that a candidate over a router without servers is there.
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

}  // namespace

Result<network::Topology> MakeServerDragonfly(const ServerDragonfly& dragonfly) {
  ORRERY_TRY_STATUS(Check(dragonfly));
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

}  // namespace orrery::collective
