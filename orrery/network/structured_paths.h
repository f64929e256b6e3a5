#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/network/topology.h"

/// Paths that follow from the shape of a topology. All return false, with `path` unchanged, when a
/// link on the path is down.
namespace orrery::network {

/// Along the first side of the torus, then the second, …; the shorter direction, upwards when both
/// are equal, the other direction when a link of the first is down.
[[nodiscard]] bool AppendDimensionOrder(const Topology& topology,
                                        std::span<const std::uint8_t> is_down, GpuId from, GpuId to,
                                        std::vector<LinkId>& path);

/// At most one local, one global and one local cable; with `over_group` minimal to that group
/// first.
[[nodiscard]] bool AppendDragonfly(const Topology& topology, std::span<const std::uint8_t> is_down,
                                   GpuId from, GpuId to, std::optional<std::uint32_t> over_group,
                                   std::vector<LinkId>& path);

}  // namespace orrery::network
