#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::exporting {

/// A slice of one track that is to be drawn.
struct LayoutSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  /// Slices of a higher layer give way to those of a lower one (see LayOutSlices).
  std::uint8_t layer = 0;

  /// Belongs inside the slice before it, on the same lane.
  bool attached = false;
};

using Lane = std::uint16_t;

/// Gives each slice a lane, so that any two slices of one lane are apart or one lies inside the
/// other: what viewers demand of a thread. Lanes count from 0; slices come in order of begin time,
/// ties longer first.
///
/// The lowest layers share lane 0 as long as they nest together. The other layers are laid out one
/// after the other, each on lanes of its own, so that the odd row does not push kernels aside;
/// there a slice goes to the first lane it fits (greedy, hence deterministic). Costs
/// O(slices * lanes).
[[nodiscard]] std::vector<Lane> LayOutSlices(std::span<const LayoutSlice> slices);

/// Returns how many lanes a layout uses; at least one.
[[nodiscard]] Lane CountLanes(std::span<const Lane> lanes);

}  // namespace orrery::exporting
