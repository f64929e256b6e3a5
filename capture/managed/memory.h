#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime.h>

#include "experiment.h"

namespace managed {

/// Ends the program when a CUDA call failed: no figure after that would mean anything.
void Check(cudaError_t status, const char* what);

/// Asks for a range to be moved; `to_gpu` or to the host.
void Prefetch(void* address, int64_t bytes, bool to_gpu, cudaStream_t stream);

/// Managed memory that begins at a block.
class Memory {
 public:
  explicit Memory(int64_t bytes);
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  char* data() const { return data_; }

  /// Brings the first bytes to the host, where several threads write one word of each page.
  void WriteOnHost(int64_t bytes);

  /// Writes single pages on the host.
  void WritePages(const std::vector<uint32_t>& pages);

  /// Copies with cudaMemcpy, from pageable or from pinned memory.
  void CopyFromHost(int64_t bytes, bool is_pinned);

  void BringToGpu(int64_t bytes);

 private:
  char* data_ = nullptr;
};

}  // namespace managed
