#pragma once

#include <cstdint>
#include <vector>

#include <cuda_runtime.h>

#include "experiment.h"

namespace managed {

/// Ends the program when a CUDA call failed: all later values would be meaningless.
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

// Kernels.

/// A kernel that does nothing: in a recording it stands between experiments.
void LaunchMark();

/// One thread reads a word of page after page, each when the one before has come.
void LaunchChase(const char* memory, const uint32_t* pages, int64_t count, int64_t* out);

/// Each thread reads a word of one page; `threads_per_group` of 32 puts each warp on its own.
void LaunchTouch(const char* memory, const uint32_t* pages, int64_t count, int threads_per_group,
                 int64_t* out);

/// All of the GPU reads or writes memory once.
void LaunchRead(const char* memory, int64_t bytes, int64_t* out);
void LaunchWrite(char* memory, int64_t bytes);

/// Groups of threads read 64 KiB and then compute for a time, again and again.
void LaunchCompute(const char* memory, int64_t bytes, int64_t compute_ns, int64_t* out);

/// All multiprocessors compute for a time, without memory.
void LaunchSpin(int64_t compute_ns, cudaStream_t stream);

}  // namespace managed
