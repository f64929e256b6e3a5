#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "orrery/trace/trace.h"

namespace orrery::memory {

/// Calls `visit(address)` for each active lane of an access, lowest lane first.
template <typename Visit>
void ForEachLane(const trace::Trace& trace, RowId access, Visit&& visit) {
  const RowId first_lane = trace.accesses.first_lane[access];
  std::size_t next_listed = first_lane;
  for (std::uint64_t mask = trace.accesses.lane_mask[access]; mask != 0; mask &= mask - 1) {
    if (first_lane != kNoRow) {
      visit(trace.access_lanes.address[next_listed++]);
    } else {
      const auto lane = static_cast<std::uint64_t>(std::countr_zero(mask));
      visit(trace.accesses.address[access] +
            lane * static_cast<std::uint64_t>(trace.accesses.stride[access]));
    }
  }
}

}  // namespace orrery::memory
