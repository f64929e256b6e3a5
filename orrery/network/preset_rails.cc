#include <utility>

#include <fmt/format.h>

#include "orrery/network/preset_parts.h"
#include "orrery/network/presets.h"

namespace orrery::network {
namespace {

// Blocks of servers, each with leaves of its own; `leaves_per_block` are joined to the ports of a
// server by `leaf_of_port`.
struct Blocks {
  std::uint32_t num_servers = 0;
  std::uint32_t servers_per_block = 0;
  std::uint32_t leaves_per_block = 0;

  [[nodiscard]] std::uint32_t num_blocks() const {
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
    return Fail(Error::Kind::kInvalidInput,
                fmt::format("{} blocks need spines to meet; raise the number of spines or "
                            "servers_per_block",
                            blocks.num_blocks()));
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

}  // namespace

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
  for (std::uint32_t leaf = 0; leaf < blocks.num_blocks() * blocks.leaves_per_block; ++leaf) {
    for (std::uint32_t spine = 0; spine < rails.num_spines; ++spine) {
      builder.AddCable(first_leaf + leaf, first_spine + spine, wire);
    }
  }
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

}  // namespace orrery::network
