#include <utility>

#include <fmt/format.h>

#include "orrery/network/preset_parts.h"
#include "orrery/network/presets.h"

namespace orrery::network {
namespace {

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
