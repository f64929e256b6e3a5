#pragma once

#include <cstdint>

#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

/// A place in a grid, or the grid's size.
struct BlockPlace {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;
};

/// Numbers blocks with x fastest. All three count, and the product may exceed 32 bits.
ORRERY_HOST_DEVICE std::uint64_t LinearBlock(const BlockPlace& block, const BlockPlace& grid) {
  return (static_cast<std::uint64_t>(block.z) * grid.y + block.y) * grid.x + block.x;
}

/// Says whether accesses of this block are seen. A period of 0 or 1 takes every block.
ORRERY_HOST_DEVICE bool TakesBlock(const LaunchRecord& record, std::uint64_t linear_block) {
  return record.block_period <= 1 || linear_block % record.block_period == record.first_block;
}

}  // namespace orrery::capture
