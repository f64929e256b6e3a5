#include "orrery/collective/tree_parent.h"

namespace orrery::collective {

std::optional<std::uint32_t> TreeParent(std::uint32_t node, std::uint32_t count) {
  if (node == 0) {
    return std::nullopt;
  }
  const std::uint32_t lowest = node & (~node + 1);
  const std::uint32_t above = (node ^ lowest) | (lowest << 1);
  // A tree that is not full lacks the node to the right; the one to the left takes its place.
  return above < count ? above : node ^ lowest;
}

std::optional<std::uint32_t> SecondTreeParent(std::uint32_t node, std::uint32_t count) {
  const bool is_even = count % 2 == 0;
  const std::uint32_t image = is_even ? count - 1 - node : (node + count - 1) % count;
  const std::optional<std::uint32_t> parent = TreeParent(image, count);
  if (!parent) {
    return std::nullopt;
  }
  return is_even ? count - 1 - *parent : (*parent + 1) % count;
}

}  // namespace orrery::collective
