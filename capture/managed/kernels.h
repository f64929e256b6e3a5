#pragma once

#include <cstdint>

#include <cuda_runtime.h>

namespace managed {

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
