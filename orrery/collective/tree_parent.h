#pragma once

#include <cstdint>
#include <optional>

namespace orrery::collective {

/// The parent of a node in the binary tree of `count` nodes in which node 0 is the root, odd nodes
/// are leaves and a node whose lowest set bit is b lies between its children at distance b / 2;
/// nothing for the root.
[[nodiscard]] std::optional<std::uint32_t> TreeParent(std::uint32_t node, std::uint32_t count);

/// The same in its partner, in which leaves of the first are inner nodes: the mirror image for even
/// counts, shifted by one for odd ones.
[[nodiscard]] std::optional<std::uint32_t> SecondTreeParent(std::uint32_t node,
                                                            std::uint32_t count);

}  // namespace orrery::collective
