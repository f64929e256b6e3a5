#pragma once

// Marks what patches and host code share. Patches have no host side, so nvcc compiles it for the
// device alone. A patch has few registers: what is seldom needed is kept out of line
// (ORRERY_ASIDE), the rest is made one short function, and loops are not unrolled.
#ifdef __CUDACC__
#define ORRERY_HOST_DEVICE __device__ __forceinline__
#define ORRERY_ASIDE __device__ __noinline__
#define ORRERY_KEEP_LOOP _Pragma("unroll 1")
#else
#define ORRERY_HOST_DEVICE inline
#define ORRERY_ASIDE inline
#define ORRERY_KEEP_LOOP
#endif
