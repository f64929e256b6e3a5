#include "kernels.h"

namespace {

constexpr int kMostThreads = 640;
constexpr int kLightThreads = 256;

struct Chunk {
  const uint4* first;
  const uint4* second;
  uint4* out;
  unsigned long long vectors;
};

__device__ inline uint4 LoadVolatile(const uint4* from) {
  uint4 v;
  asm volatile("ld.volatile.global.v4.u32 {%0,%1,%2,%3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(from));
  return v;
}

__device__ inline void StoreVolatile(uint4* to, uint4 v) {
  asm volatile("st.volatile.global.v4.u32 [%0], {%1,%2,%3,%4};" ::"l"(to), "r"(v.x), "r"(v.y),
               "r"(v.z), "r"(v.w)
               : "memory");
}

__device__ inline uint4 Sum(uint4 a, uint4 b) {
  return make_uint4(a.x + b.x, a.y + b.y, a.z + b.z, a.w + b.w);
}

template <int kUnroll>
__device__ void Copy(const Chunk& chunk) {
  const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * kUnroll;
  for (unsigned long long at = threadIdx.x; at < chunk.vectors; at += step) {
    uint4 held[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned long long where = at + static_cast<unsigned long long>(i) * blockDim.x;
      held[i] = where < chunk.vectors ? LoadVolatile(chunk.first + where) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned long long where = at + static_cast<unsigned long long>(i) * blockDim.x;
      if (where < chunk.vectors) {
        StoreVolatile(chunk.out + where, held[i]);
      }
    }
  }
}

template <int kUnroll>
__device__ void ReduceCopy(const Chunk& chunk) {
  const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * kUnroll;
  for (unsigned long long at = threadIdx.x; at < chunk.vectors; at += step) {
    uint4 a[kUnroll];
    uint4 b[kUnroll];
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned long long where = at + static_cast<unsigned long long>(i) * blockDim.x;
      a[i] = where < chunk.vectors ? LoadVolatile(chunk.first + where) : make_uint4(0, 0, 0, 0);
      b[i] = where < chunk.vectors ? LoadVolatile(chunk.second + where) : make_uint4(0, 0, 0, 0);
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned long long where = at + static_cast<unsigned long long>(i) * blockDim.x;
      if (where < chunk.vectors) {
        StoreVolatile(chunk.out + where, Sum(a[i], b[i]));
      }
    }
  }
}

// Lines of 8 bytes of data and 8 of flags, one at a time: twice the payload both ways.
__device__ void LowLatency(const Chunk& chunk) {
  for (unsigned long long at = threadIdx.x; at < chunk.vectors; at += blockDim.x) {
    uint4 line = LoadVolatile(chunk.first + at);
    line.y = line.w = static_cast<unsigned int>(at) | 1U;
    StoreVolatile(chunk.out + at, line);
  }
}

// Lines of 128 bytes of which eight are a flag that eight threads look at together.
template <int kUnroll>
__device__ void LowLatency128(const Chunk& chunk) {
  const unsigned long long step = static_cast<unsigned long long>(blockDim.x) * kUnroll;
  for (unsigned long long at = threadIdx.x; at < chunk.vectors; at += step) {
    uint4 held[kUnroll];
    bool any = false;
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned long long where = at + static_cast<unsigned long long>(i) * blockDim.x;
      held[i] = where < chunk.vectors ? LoadVolatile(chunk.first + where) : make_uint4(0, 0, 0, 0);
      any |= held[i].w == 0x5a5a5a5aU;
    }
    if (__any_sync(__activemask(), any)) {
      __nanosleep(20);
    }
#pragma unroll
    for (int i = 0; i < kUnroll; ++i) {
      const unsigned long long where = at + static_cast<unsigned long long>(i) * blockDim.x;
      if (where < chunk.vectors) {
        StoreVolatile(chunk.out + where, held[i]);
      }
    }
  }
}

// One kernel for all patterns, as NCCL's are: each takes the registers of the hungriest.
template <bool kHeavy>
__device__ void Move(int pattern, const Chunk& chunk) {
  switch (pattern) {
    case kCopy:
      Copy<kHeavy ? 16 : 2>(chunk);
      break;
    case kReduceCopy:
      ReduceCopy<kHeavy ? 8 : 1>(chunk);
      break;
    case kLowLatency:
      LowLatency(chunk);
      break;
    default:
      LowLatency128<kHeavy ? 8 : 2>(chunk);
  }
}

// Vectors of 16 bytes that carry the payload of a chunk.
__device__ unsigned long long VectorsOf(int pattern, long long payload) {
  const unsigned long long bytes = static_cast<unsigned long long>(payload);
  switch (pattern) {
    case kLowLatency:
      return bytes / 8;
    case kLowLatency128:
      return bytes / 120 * 8;
    default:
      return bytes / 16;
  }
}

__device__ Chunk ChunkAt(const Communication& s, const CommunicationBuffers& b,
                         unsigned long long number) {
  Chunk chunk;
  chunk.vectors = VectorsOf(s.pattern, s.chunk_bytes);
  const unsigned long long area = s.place == kCache ? b.cache_vectors : b.device_vectors;
  // Thirds of the area for the two sources and the result, chunks in turn.
  const unsigned long long third = area / 3;
  const unsigned long long places = third > chunk.vectors ? third / chunk.vectors : 1;
  const unsigned long long at = number % places * chunk.vectors;
  chunk.first = b.device + at;
  chunk.second = b.device + third + at;
  chunk.out = b.device + 2 * third + at;
  if (s.place == kHost) {
    const unsigned long long host_at = number % (b.host_vectors / chunk.vectors) * chunk.vectors;
    if (blockIdx.x % 2 == 0) {
      chunk.out = b.host + host_at;
    } else {
      chunk.first = b.host + host_at;
    }
  }
  return chunk;
}

// The word of the compute side, seen by all threads of the block alike.
__device__ unsigned int PhaseNow(const Slot* slot) {
  __shared__ unsigned int seen;
  __syncthreads();
  if (threadIdx.x == 0) {
    seen = *const_cast<const volatile unsigned int*>(&slot->phase);
  }
  __syncthreads();
  return seen;
}

__device__ void WaitUntil(unsigned long long time_ns) {
  if (threadIdx.x == 0) {
    while (NowNs() < time_ns) {
    }
  }
  __syncthreads();
}

// Flags that never come: one thread polls, the others wait at the barrier.
__device__ void SpinFor(const Communication& s, const Slot* slot, unsigned long long begin) {
  const unsigned long long end =
      begin + static_cast<unsigned long long>(s.chunks_each > 0 ? s.chunks_each * s.chunk_ns
                                                                : s.longest_ns);
  if (threadIdx.x == 0) {
    const volatile unsigned int* const phase = &slot->phase;
    while (NowNs() < end && (s.chunks_each > 0 || *phase < 2)) {
    }
  }
  __syncthreads();
}

// Moves chunks until there are enough, or until told.
template <bool kHeavy>
__device__ void MoveChunks(const Communication& s, const CommunicationBuffers& b, const Slot* slot,
                           BlockRecord& mine) {
  while (s.chunks_each == 0 || mine.chunks < s.chunks_each) {
    const unsigned int phase = PhaseNow(slot);
    if (phase >= 1 && mine.mark_ns == 0) {
      mine.mark_ns = NowNs();
      mine.mark_bytes = mine.end_bytes;
    }
    if ((phase >= 2 && s.chunks_each == 0) ||
        __syncthreads_or(NowNs() - mine.begin_ns > s.longest_ns)) {
      break;
    }
    Move<kHeavy>(
        s.pattern,
        ChunkAt(s, b, static_cast<unsigned long long>(mine.chunks) * gridDim.x + blockIdx.x));
    ++mine.chunks;
    mine.end_bytes += static_cast<unsigned long long>(s.chunk_bytes);
    WaitUntil(mine.begin_ns + static_cast<unsigned long long>(mine.chunks * s.chunk_ns));
  }
}

template <bool kHeavy>
__device__ void Communicate(const Communication& s, const CommunicationBuffers& b, Slot* slot,
                            BlockRecord* records) {
  BlockRecord mine = {};
  mine.begin_ns = NowNs();
  const long long begin_cycles = clock64();
  mine.sm = SmId();
  if (s.pattern == kSpin) {
    SpinFor(s, slot, mine.begin_ns);
  } else {
    MoveChunks<kHeavy>(s, b, slot, mine);
  }
  mine.end_ns = NowNs();
  mine.cycles = static_cast<unsigned long long>(clock64() - begin_cycles);
  if (threadIdx.x == 0) {
    records[blockIdx.x] = mine;
  }
}

__global__ void __launch_bounds__(kMostThreads, 1)
    HeavyCommunication(Communication s, CommunicationBuffers b, Slot* slot, BlockRecord* records) {
  Communicate<true>(s, b, slot, records);
}

__global__ void __launch_bounds__(kLightThreads, 8)
    LightCommunication(Communication s, CommunicationBuffers b, Slot* slot, BlockRecord* records) {
  Communicate<false>(s, b, slot, records);
}

using Kernel = void (*)(Communication, CommunicationBuffers, Slot*, BlockRecord*);

Kernel KernelOf(int heavy) {
  return heavy != 0 ? HeavyCommunication : LightCommunication;
}

}  // namespace

cudaError_t LaunchCommunication(cudaStream_t stream, const Communication& settings,
                                const CommunicationBuffers& buffers, Slot* slot,
                                BlockRecord* records) {
  KernelOf(settings.heavy)<<<settings.blocks, settings.threads, settings.shared_bytes, stream>>>(
      settings, buffers, slot, records);
  return cudaGetLastError();
}

cudaError_t CommunicationAttributes(int heavy, int* registers, int* static_shared) {
  return KernelTakes(KernelOf(heavy), 100 << 10, registers, static_shared);
}
