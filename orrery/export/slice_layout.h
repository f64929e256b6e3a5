#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace orrery::exporting {

/// A slice of one track that is to be drawn.
struct LayoutSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  /// Slices of higher layers are moved to make room for those of lower ones.
  std::uint8_t layer = 0;

  /// Belongs inside the slice before it, on the same lane.
  bool attached = false;
};

using Lane = std::uint16_t;

/// Gives each slice a lane, so that any two slices of one lane are apart or one lies inside the
/// other: what viewers demand of a thread. Lanes count from 0; slices come in order of begin time,
/// ties longer first.
///
/// The lowest layer is laid out greedily: a slice goes to the first lane that it fits. Of each
/// further layer the slices that cross nothing on lane 0 join it, and the others are laid out on
/// new lanes; so unusual rows do not displace kernels. Deterministic; costs O(n log n) for n
/// slices on few lanes.
[[nodiscard]] std::vector<Lane> LayOutSlices(std::span<const LayoutSlice> slices);

/// Returns how many lanes a layout uses; at least one.
[[nodiscard]] Lane CountLanes(std::span<const Lane> lanes);

}  // namespace orrery::exporting
