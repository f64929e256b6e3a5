#pragma once

#include <concepts>
#include <cstdint>

#include "capture/sanitizer/device/host_device.h"
#include "capture/sanitizer/device/layout.h"

// The seam between the body of a patch and what runs it. The body is written as if for the whole
// warp: values in it are the same for all lanes, and what differs from lane to lane is said in
// functions of (lane, address) that are handed to the warp. DeviceWarp (device_warp.cuh) answers
// with votes and shuffles, and each thread computes the common values for itself; EmulatedWarp
// (emulated_warp_test.h) loops over 32 lanes.

namespace orrery::capture {

/// The index of a block in its grid, or of a thread in its block; or the size of a grid or block.
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

inline constexpr std::uint32_t kNumLanes = 32;

/// The steps between the shifted addresses of one active lane and the next.
struct LaneSteps {
  std::uint32_t changes;   // lanes that differ from the one before; the first is one of them
  std::uint32_t descents;  // lanes that are below the one before
};

/// Besides what is named here, a warp has
///   Vote(f)       lanes among the active whose f(lane, address) is true
///   ForLanes(f)   f(lane, address) on each active lane
///   Once(f)       f() on one lane
///   ForJobs(n, f) f(0) … f(n - 1), spread over the active lanes
template <typename T>
concept Warp = requires(T warp, std::uint32_t mask, std::uint32_t lane, std::uint64_t* counter) {
  { warp.active() } -> std::same_as<std::uint32_t>;
  { warp.AddressOf(lane) } -> std::same_as<std::uint64_t>;
  { warp.RankOf(lane) } -> std::same_as<std::uint32_t>;
  { warp.Steps(lane) } -> std::same_as<LaneSteps>;
  { warp.FirstOfEach(lane) } -> std::same_as<std::uint32_t>;
  { warp.FromOne(*counter) } -> std::same_as<std::uint64_t>;
  { warp.multiprocessor() } -> std::same_as<std::uint32_t>;
  { warp.block() } -> std::same_as<Indices>;
  { warp.grid() } -> std::same_as<Indices>;
  { warp.thread() } -> std::same_as<Indices>;  // any active one
  { warp.block_size() } -> std::same_as<Indices>;
  { T::Count(mask) } -> std::same_as<std::uint32_t>;
  { T::Lowest(mask) } -> std::same_as<std::uint32_t>;
  { T::Highest(mask) } -> std::same_as<std::uint32_t>;
  T::Add(counter, *counter);
};

}  // namespace orrery::capture
