#include <cstdio>
#include <cstdlib>
#include <thread>

#include "memory.h"

namespace managed {

void Check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "managed: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

void Prefetch(void* address, int64_t bytes, bool to_gpu, cudaStream_t stream) {
  cudaMemLocation place{};
  place.type = to_gpu ? cudaMemLocationTypeDevice : cudaMemLocationTypeHost;
  place.id = 0;
  Check(cudaMemPrefetchAsync(address, static_cast<size_t>(bytes), place, 0, stream), "prefetch");
}

Memory::Memory(int64_t bytes) {
  Check(cudaMallocManaged(&data_, static_cast<size_t>(bytes)), "managed memory");
  if (reinterpret_cast<uintptr_t>(data_) % kBlockBytes != 0 && bytes >= kBlockBytes) {
    std::fprintf(stderr, "managed: memory does not begin at a block of 2 MiB\n");
    std::exit(1);
  }
}

Memory::~Memory() {
  Check(cudaFree(data_), "free");
}

void Memory::WriteOnHost(int64_t bytes) {
  Prefetch(data_, bytes, false, nullptr);
  Check(cudaDeviceSynchronize(), "bringing memory to the host");
  constexpr int kThreads = 8;
  std::vector<std::thread> threads;
  for (int thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([this, bytes, thread] {
      for (int64_t block = thread * kBlockBytes; block < bytes; block += kThreads * kBlockBytes) {
        for (int64_t at = block; at < block + kBlockBytes && at < bytes; at += kPageBytes) {
          *reinterpret_cast<volatile int64_t*>(data_ + at) = at;
        }
      }
    });
  }
  for (std::thread& thread : threads) {
    thread.join();
  }
}

void Memory::WritePages(const std::vector<uint32_t>& pages) {
  for (const uint32_t page : pages) {
    *reinterpret_cast<volatile int64_t*>(data_ + page * kPageBytes) = page;
  }
}

void Memory::CopyFromHost(int64_t bytes, bool is_pinned) {
  const auto size = static_cast<size_t>(bytes);
  std::vector<char> source(size, 1);
  if (is_pinned) {
    Check(cudaHostRegister(source.data(), size, cudaHostRegisterDefault), "pinning");
  }
  Check(cudaMemcpy(data_, source.data(), size, cudaMemcpyHostToDevice), "copy to managed memory");
  Check(cudaDeviceSynchronize(), "copy to managed memory");
  if (is_pinned) {
    Check(cudaHostUnregister(source.data()), "pinning");
  }
}

void Memory::BringToGpu(int64_t bytes) {
  Prefetch(data_, bytes, true, nullptr);
  Check(cudaDeviceSynchronize(), "bringing memory to the GPU");
}

}  // namespace managed
