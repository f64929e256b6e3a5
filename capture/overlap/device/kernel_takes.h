#pragma once

#include <cuda_runtime.h>

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
