#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace orrery {

/// Two positions that hold the same value.
struct IndexPair {
  std::uint32_t first = 0;
  std::uint32_t second = 0;

  bool operator==(const IndexPair&) const = default;
};

/// Returns a longest common subsequence as pairs of positions in order, or nothing when more than
/// `max_edits` values would have to be left out of the two sequences together.
///
/// Myers' greedy search (1986): time O((n + m) * edits) at worst and about n + m + edits^2 on
/// sequences that mostly agree, memory O(edits^2).
[[nodiscard]] std::optional<std::vector<IndexPair>> LongestCommonSubsequence(
    std::span<const std::uint64_t> first, std::span<const std::uint64_t> second,
    std::size_t max_edits);

}  // namespace orrery
