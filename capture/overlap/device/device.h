#pragma once

#include <cstdint>

#include <cuda_runtime.h>

// What the host and the kernels of the overlap experiments have in common. All times are of the
// GPU's global timer, in nanoseconds.

/// One run of a pair: where its kernels meet and what its gates saw. Zeroed before use.
struct Slot {
  unsigned long long go_ns;          // written by the leading gate
  unsigned long long release_ns[2];  // of the gate of the compute side, and of the other
  unsigned long long gate_ns[2];     // how long each gate waited, and in cycles: the SM clock
  unsigned long long gate_cycles[2];
  unsigned long long first_begin_ns;  // of the blocks of a stamped compute kernel
  unsigned long long last_begin_ns;
  unsigned long long last_end_ns;
  unsigned int phase;      // 1: the compute side was released, 2: it has ended
  unsigned int timed_out;  // a gate waited too long for the host
};

/// What one block of a communication-like kernel did.
struct BlockRecord {
  unsigned long long begin_ns;
  unsigned long long mark_ns;  // when it saw that the compute side was released
  unsigned long long end_ns;
  unsigned long long mark_bytes;  // payload until then
  unsigned long long end_bytes;
  unsigned long long cycles;  // from begin to end
  unsigned int sm;
  unsigned int chunks;
};

enum Pattern : int { kCopy = 0, kReduceCopy = 1, kSpin = 2, kLowLatency = 3, kLowLatency128 = 4 };

enum Place : int { kDeviceMemory = 0, kCache = 1, kHost = 2 };

/// A communication-like kernel: persistent blocks that move chunks at a set rate.
struct Communication {
  int pattern;
  int place;
  int heavy;  // 1: as many registers as NCCL's kernels have; 0: few
  int blocks;
  int threads;
  int shared_bytes;
  long long chunk_bytes;  // payload
  long long chunk_ns;     // a block begins at most one chunk in this time; 0: no limit
  long long chunks_each;  // of a block; 0: until the compute side has ended
  long long longest_ns;   // ends after this in any case
};

/// A compute kernel of our own, whose blocks say when they ran.
struct Stamped {
  int kind;  // 0: moves memory, 1: computes, 2: waits for memory (each load after the last)
  int blocks;
  int threads;
  int shared_bytes;
  long long work_each;  // bytes, multiply-adds or loads of one thread
};

constexpr int kMostBlocks = 264;

__device__ inline unsigned long long NowNs() {
  unsigned long long now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ inline unsigned int SmId() {
  unsigned int id;
  asm volatile("mov.u32 %0, %%smid;" : "=r"(id));
  return id;
}

/// Loads a kernel, so that none is loaded while a gate holds the GPU, lets it have `most_shared`
/// bytes of dynamic shared memory, and says what it takes.
template <typename Kernel>
cudaError_t KernelTakes(Kernel kernel, int most_shared, int* registers, int* static_shared) {
  cudaFuncAttributes attributes = {};
  cudaError_t status = cudaFuncGetAttributes(&attributes, kernel);
  if (status == cudaSuccess) {
    status = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most_shared);
  }
  *registers = attributes.numRegs;
  *static_shared = static_cast<int>(attributes.sharedSizeBytes);
  return status;
}

/// Holds a stream until all of a run is queued and its time has come: sides begin at set times of
/// the GPU's own clock, and hold no more than one warp before.
cudaError_t LaunchGate(cudaStream_t stream, const unsigned int* host_go, Slot* slot, int side,
                       int leads, long long offset_ns);

/// Tells communication without an end of its own that the compute side has ended.
cudaError_t LaunchEnd(cudaStream_t stream, Slot* slot);

struct CommunicationBuffers {
  uint4* device;  // far larger than the cache
  uint4* host;    // pinned, as the GPU sees it
  unsigned long long device_vectors;
  unsigned long long host_vectors;
  unsigned long long cache_vectors;  // the part of `device` that stays in the cache
};

cudaError_t LaunchCommunication(cudaStream_t stream, const Communication& settings,
                                const CommunicationBuffers& buffers, Slot* slot,
                                BlockRecord* records);

/// Loads a kernel, so that none is loaded while a gate holds the GPU, and says what it takes.
cudaError_t CommunicationAttributes(int heavy, int* registers, int* static_shared);

/// Launches a compute kernel of our own; its first and last beginning are in the slot.
cudaError_t LaunchStamped(cudaStream_t stream, const Stamped& settings, uint4* buffer,
                          unsigned long long vectors, Slot* slot);

cudaError_t StampedAttributes(int kind, int* registers, int* static_shared);
