#pragma once

#include <cstdint>

#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"

namespace orrery::capture {

/// Where a block is in its grid, or a thread in its block; or how large those are.
struct Indices {
  std::uint32_t x;
  std::uint32_t y;
  std::uint32_t z;
};

/// Numbers blocks, or threads, with x fastest. All three count, and the product may exceed 32 bits.
ORRERY_HOST_DEVICE std::uint64_t LinearNumber(const Indices& place, const Indices& size) {
  return (static_cast<std::uint64_t>(place.z) * size.y + place.y) * size.x + place.x;
}

/// Returns value % divisor, bit by bit where 32 do not suffice.
ORRERY_HOST_DEVICE std::uint32_t Remainder(std::uint64_t value, std::uint32_t divisor) {
  if (value <= UINT32_MAX) {
    return static_cast<std::uint32_t>(value) % divisor;
  }
  std::uint64_t remainder = 0;
  ORRERY_KEEP_LOOP
  for (std::uint32_t bit = 64; bit-- != 0;) {
    remainder = remainder << 1U | (value >> bit & 1U);
    remainder -= remainder >= divisor ? divisor : 0;
  }
  return static_cast<std::uint32_t>(remainder);
}

/// Says whether accesses of this block are seen. A period of 0 or 1 takes every block.
ORRERY_HOST_DEVICE bool TakesBlock(const LaunchRecord& record, std::uint64_t linear_block) {
  return record.block_period <= 1 ||
         Remainder(linear_block, record.block_period) == record.first_block;
}

}  // namespace orrery::capture
