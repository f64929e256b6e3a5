#pragma once

#include <cuda_runtime.h>

#include "device.h"

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

/// Holds a stream until all of a run is queued and its time has come: sides begin at set times of
/// the GPU's own clock, and hold no more than one warp before.
cudaError_t LaunchGate(cudaStream_t stream, const unsigned int* host_go, Slot* slot, int side,
                       int leads, long long offset_ns);

/// Tells communication without an end of its own that the compute side has ended.
cudaError_t LaunchEnd(cudaStream_t stream, Slot* slot);

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
