#pragma once

#include <concepts>
#include <cstdint>

#include "capture/sanitizer/device/block_selection.h"

// The seam between the body of a patch and what runs it. The body is written as if for the whole
// warp: values in it are the same for all lanes, and what differs from lane to lane is said in
// functions of (lane, address) that are handed to the warp. DeviceWarp (device_warp.cuh) answers
// with votes and shuffles, and each thread computes the common values for itself; EmulatedWarp
// (emulated_warp.h) loops over 32 lanes.

namespace orrery::capture {

inline constexpr std::uint32_t kNumLanes = 32;

/// How the addresses of active lanes, shifted, go on from one active lane to the next.
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
