#pragma once

// Kernels of which it is known how many bytes they touch: each access below is executed once by
// each thread that comes to it. Names are what a recorder shows, so they are plain C names.

constexpr int kTile = 64;       // rows and columns of a block's tile
constexpr int kTileDepth = 16;  // of one step along the inner dimension
constexpr int kBulkBytes = 8192;

extern "C" {

__global__ void known_add(const float* a, const float* b, float* c) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  c[i] = a[i] + b[i];
}

__global__ void known_copy_8(const float2* in, float2* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

__global__ void known_copy_16(const float4* in, float4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i];
}

__global__ void known_strided_copy(const float* in, float* out, unsigned stride) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i * stride];
}

__global__ void known_gather(const float* in, const int* index, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[index[i]];
}

__global__ void known_histogram(const int* in, unsigned* bins) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  atomicAdd(&bins[in[i] & 1023], 1U);
}

__global__ void known_broadcast(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[blockIdx.x];
}

// A matrix of which only the first columns are used, by two-dimensional blocks.
__global__ void known_two_dimensional(const float* in, float* out, unsigned pitch) {
  const unsigned x = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned y = blockIdx.y * blockDim.y + threadIdx.y;
  out[y * pitch + x] = in[y * pitch + x] + 1.0F;
}

// Blocks of 39 threads: the second warp has 7 lanes, and only 5 of each warp write. Volatile, so
// that all of them read.
__global__ void known_partial_warp(const volatile float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float value = in[i];
  if (threadIdx.x % 32 < 5) {
    out[i] = value;
  }
}

__global__ void known_stream_one(const float* in, float* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  out[i] = in[i] * 2.0F;
}

__global__ void known_stream_two(const float4* in, float4* out) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const float4 value = in[i];
  out[i] = make_float4(value.w, value.z, value.y, value.x);
}

}  // extern "C"

namespace {

__device__ unsigned SharedAddress(const void* pointer) {
  return static_cast<unsigned>(__cvta_generic_to_shared(pointer));
}

__device__ void CopyAsync16(float* shared, const float* global) {
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(SharedAddress(shared)),
               "l"(__cvta_generic_to_global(global)));
}

__device__ void WaitForCopies() {
  asm volatile("cp.async.commit_group;\ncp.async.wait_group 0;" ::: "memory");
  __syncthreads();
}

}  // namespace

extern "C" {

// C = A B, square matrices of `size`, all row by row. 256 threads bring a tile of 64 × 16 and one
// of 16 × 64 with a copy of 16 bytes each, and have 4 × 4 results each.
__global__ void known_tile_gemm(const float* a, const float* b, float* c, unsigned size) {
  __shared__ alignas(16) float tile_a[kTile][kTileDepth];
  __shared__ alignas(16) float tile_b[kTileDepth][kTile];
  const unsigned t = threadIdx.x;
  const unsigned row = blockIdx.y * kTile;
  const unsigned column = blockIdx.x * kTile;
  float sum[4][4] = {};
  for (unsigned k = 0; k < size; k += kTileDepth) {
    CopyAsync16(&tile_a[t / 4][t % 4 * 4], &a[(row + t / 4) * size + k + t % 4 * 4]);
    CopyAsync16(&tile_b[t / 16][t % 16 * 4], &b[(k + t / 16) * size + column + t % 16 * 4]);
    WaitForCopies();
    for (int depth = 0; depth < kTileDepth; ++depth) {
      for (int i = 0; i < 4; ++i) {
        for (int j = 0; j < 4; ++j) {
          sum[i][j] += tile_a[t / 16 * 4 + i][depth] * tile_b[depth][t % 16 * 4 + j];
        }
      }
    }
    __syncthreads();
  }
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(&c[(row + t / 16 * 4 + i) * size + column + t % 16 * 4]) =
        make_float4(sum[i][0], sum[i][1], sum[i][2], sum[i][3]);
  }
}

// One thread of each block brings 8 KiB into shared memory and writes them out again, by bulk
// copies.
__global__ void known_bulk_copy(const char* in, char* out) {
#if __CUDA_ARCH__ >= 900
  __shared__ alignas(128) char buffer[kBulkBytes];
  __shared__ alignas(8) unsigned long long barrier;
  const unsigned long long offset = static_cast<unsigned long long>(blockIdx.x) * kBulkBytes;
  const unsigned at_barrier = SharedAddress(&barrier);
  if (threadIdx.x != 0) {
    return;
  }
  asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(at_barrier) : "memory");
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at_barrier),
               "r"(kBulkBytes)
               : "memory");
  asm volatile(
      "cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::
          "r"(SharedAddress(buffer)),
      "l"(__cvta_generic_to_global(in + offset)), "r"(kBulkBytes), "r"(at_barrier)
      : "memory");
  unsigned is_done = 0;
  while (is_done == 0) {
    asm volatile(
        "{\n.reg .pred p;\nmbarrier.try_wait.parity.shared.b64 p, [%1], 0;\n"
        "selp.u32 %0, 1, 0, p;\n}"
        : "=r"(is_done)
        : "r"(at_barrier)
        : "memory");
  }
  asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
  asm volatile("cp.async.bulk.global.shared::cta.bulk_group [%0], [%1], %2;" ::"l"(
                   __cvta_generic_to_global(out + offset)),
               "r"(SharedAddress(buffer)), "r"(kBulkBytes)
               : "memory");
  asm volatile("cp.async.bulk.commit_group;\ncp.async.bulk.wait_group 0;" ::: "memory");
#endif
}

}  // extern "C"
