#pragma once

#include <bit>
#include <cstdint>

// Marks what patches and host code share. Patches have no host side, so nvcc compiles it for the
// device alone. A patch has few registers: what is seldom needed is kept out of line
// (ORRERY_ASIDE), the rest is made one short function, and loops are not unrolled. Divisions of 64
// bits are avoided, which would be hidden calls. ORRERY_PATCHES_WITHOUT_CALLS makes each patch one
// function, to compare.
#ifdef __CUDACC__
#define ORRERY_HOST_DEVICE __device__ __forceinline__
#define ORRERY_KEEP_LOOP _Pragma("unroll 1")
#else
#define ORRERY_HOST_DEVICE inline
#define ORRERY_KEEP_LOOP
#endif

#if defined(__CUDACC__) && !defined(ORRERY_PATCHES_WITHOUT_CALLS)
#define ORRERY_ASIDE __device__ __noinline__
#else
#define ORRERY_ASIDE ORRERY_HOST_DEVICE
#endif

namespace orrery::capture {

/// Returns the logarithm of a power of two.
#ifdef __CUDACC__
__device__ __forceinline__ std::uint32_t LogOf(std::uint64_t power_of_two) {
  return static_cast<std::uint32_t>(__ffsll(static_cast<long long>(power_of_two)) - 1);
}
#else
[[nodiscard]] inline std::uint32_t LogOf(std::uint64_t power_of_two) {
  return static_cast<std::uint32_t>(std::countr_zero(power_of_two));
}
#endif

}  // namespace orrery::capture
