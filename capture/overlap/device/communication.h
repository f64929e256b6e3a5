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
