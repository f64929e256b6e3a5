#pragma once

#include <cstdint>

#include "capture/sanitizer/device/warp.h"

namespace orrery::capture {

/// The threads of a warp that execute a patch together. Every thread has its own; all make the
/// same calls. No `redux`, no shared and no constant memory: ptxas refuses them in patches.
class DeviceWarp {
 public:
  __device__ __forceinline__ DeviceWarp(std::uint32_t active, std::uint64_t address)
      : address_(address), active_(active) {
    asm("mov.u32 %0, %%laneid;" : "=r"(lane_));
  }

  __device__ __forceinline__ std::uint32_t active() const { return active_; }

  __device__ __forceinline__ std::uint64_t AddressOf(std::uint32_t lane) const {
    return __shfl_sync(active_, address_, static_cast<int>(lane));
  }

  __device__ __forceinline__ std::uint32_t RankOf(std::uint32_t lane) const {
    return Count(active_ & LanesBelow(lane));
  }

  template <typename F>
  __device__ __forceinline__ std::uint32_t Vote(F f) const {
    return __ballot_sync(active_, f(lane_, address_));
  }

  template <typename F>
  __device__ __forceinline__ void ForLanes(F f) const {
    f(lane_, address_);
  }

  template <typename F>
  __device__ __forceinline__ void Once(F f) const {
    if (lane_ == Lowest(active_)) {
      f();
    }
  }

  template <typename F>
  __device__ __forceinline__ void ForJobs(std::uint32_t num_jobs, F f) const {
    for (std::uint32_t job = RankOf(lane_); job < num_jobs; job += Count(active_)) {
      f(job);
    }
  }

  __device__ __forceinline__ LaneSteps Steps(std::uint32_t shift) const {
    const std::uint32_t below = active_ & LanesBelow(lane_);
    const std::uint32_t before_lane = below != 0 ? Highest(below) : lane_;
    const std::uint64_t before = AddressOf(before_lane) >> shift;
    const std::uint64_t own = address_ >> shift;
    return {__ballot_sync(active_, below == 0 || own != before),
            __ballot_sync(active_, own < before)};
  }

  __device__ __forceinline__ std::uint32_t FirstOfEach(std::uint32_t shift) const {
    const std::uint32_t alike =
        __match_any_sync(active_, static_cast<unsigned long long>(address_ >> shift));
    return __ballot_sync(active_, Lowest(alike) == lane_);
  }

  /// Returns what the lane has that does what is done once.
  __device__ __forceinline__ std::uint64_t FromOne(std::uint64_t value) const {
    return __shfl_sync(active_, value, static_cast<int>(Lowest(active_)));
  }

  /// Waits for all lanes; what they wrote is then seen by each.
  __device__ __forceinline__ void Join() const { __syncwarp(active_); }

  __device__ __forceinline__ static std::uint32_t multiprocessor() {
    std::uint32_t number;
    asm volatile("mov.u32 %0, %%smid;" : "=r"(number));
    return number;
  }

  __device__ __forceinline__ static Indices block() { return {blockIdx.x, blockIdx.y, blockIdx.z}; }

  __device__ __forceinline__ static Indices grid() { return {gridDim.x, gridDim.y, gridDim.z}; }

  __device__ __forceinline__ static Indices thread() {
    return {threadIdx.x, threadIdx.y, threadIdx.z};
  }

  __device__ __forceinline__ static Indices block_size() {
    return {blockDim.x, blockDim.y, blockDim.z};
  }

  __device__ __forceinline__ static std::uint32_t Count(std::uint32_t mask) {
    return static_cast<std::uint32_t>(__popc(static_cast<int>(mask)));
  }

  __device__ __forceinline__ static std::uint32_t Lowest(std::uint32_t mask) {
    return static_cast<std::uint32_t>(__ffs(static_cast<int>(mask)) - 1);
  }

  __device__ __forceinline__ static std::uint32_t Highest(std::uint32_t mask) {
    return static_cast<std::uint32_t>(31 - __clz(static_cast<int>(mask)));
  }

  // Memory that other warps write: loads pass the first-level cache by. The address space is said,
  // as for any address 64-bit atomics are loops.

  template <typename T>
  __device__ __forceinline__ static T Load(const T* place) {
    return __ldcg(place);
  }

  __device__ __forceinline__ static std::uint64_t Load(const std::uint64_t* place) {
    return __ldcg(reinterpret_cast<const unsigned long long*>(place));
  }

  __device__ __forceinline__ static void Add(std::uint64_t* place, std::uint64_t value) {
    asm volatile("red.global.add.u64 [%0], %1;" ::"l"(Global(place)), "l"(value) : "memory");
  }

  __device__ __forceinline__ static std::uint64_t LoadFromHost(
      const volatile std::uint64_t* place) {
    return *place;
  }

  __device__ __forceinline__ static std::uint64_t FetchAdd(std::uint64_t* place,
                                                           std::uint32_t value) {
    std::uint64_t before;
    asm volatile("atom.global.add.u64 %0, [%1], %2;"
                 : "=l"(before)
                 : "l"(Global(place)), "l"(static_cast<std::uint64_t>(value))
                 : "memory");
    return before;
  }

  __device__ __forceinline__ static std::uint32_t FetchAdd(std::uint32_t* place,
                                                           std::uint32_t value) {
    std::uint32_t before;
    asm volatile("atom.global.add.u32 %0, [%1], %2;"
                 : "=r"(before)
                 : "l"(Global(place)), "r"(value)
                 : "memory");
    return before;
  }

  __device__ __forceinline__ static void Max(std::uint64_t* place, std::uint64_t value) {
    asm volatile("red.global.max.u64 [%0], %1;" ::"l"(Global(place)), "l"(value) : "memory");
  }

  __device__ __forceinline__ static void Or(std::uint32_t* place, std::uint32_t bits) {
    asm volatile("red.global.or.b32 [%0], %1;" ::"l"(Global(place)), "r"(bits) : "memory");
  }

  __device__ __forceinline__ static void FenceForHost() { __threadfence_system(); }

  __device__ __forceinline__ static void StoreForHost(std::uint64_t* place, std::uint64_t value) {
    *const_cast<volatile std::uint64_t*>(place) = value;
  }

  __device__ __forceinline__ static void Pause() { __nanosleep(200); }

 private:
  __device__ __forceinline__ static std::uint64_t Global(const void* place) {
    return __cvta_generic_to_global(place);
  }

  __device__ __forceinline__ static std::uint32_t LanesBelow(std::uint32_t lane) {
    return (1U << lane) - 1;
  }

  std::uint64_t address_;
  std::uint32_t active_;
  std::uint32_t lane_;
};

}  // namespace orrery::capture
