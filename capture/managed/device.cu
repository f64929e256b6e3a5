#include <cstdio>
#include <cstdlib>
#include <thread>

#include "device.h"

namespace managed {
namespace {

constexpr int64_t kTileWords = 64 * 1024 / sizeof(int4);
constexpr int kThreads = 256;

__global__ void orrery_experiment_mark() {}

__device__ int64_t ReadPage(const char* memory, int64_t page) {
  return *reinterpret_cast<const volatile int64_t*>(memory + page * kPageBytes);
}

// `nothing` is 0, which the compiler cannot know: the next address waits for the last value.
__global__ void ChaseKernel(const char* memory, const uint32_t* pages, int64_t count,
                            int64_t nothing, int64_t* out) {
  int64_t value = 0;
  for (int64_t i = 0; i < count; ++i) {
    value += ReadPage(memory, pages[i] + (value & nothing));
  }
  *out = value;
}

__global__ void TouchKernel(const char* memory, const uint32_t* pages, int64_t count,
                            int64_t* out) {
  const int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x;
  if (i < count && ReadPage(memory, pages[i]) == -1) {
    *out = i;
  }
}

__global__ void ReadKernel(const int4* memory, int64_t count, int64_t* out) {
  int sum = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    const int4 value = __ldcg(memory + i);
    sum += value.x ^ value.y ^ value.z ^ value.w;
  }
  if (sum == -1) {
    *out = sum;
  }
}

__global__ void WriteKernel(int4* memory, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    memory[i] = make_int4(1, 2, 3, 4);
  }
}

__device__ int64_t GlobalNs() {
  int64_t now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  return now;
}

__device__ void SpinFor(int64_t ns) {
  for (const int64_t begin = GlobalNs(); GlobalNs() - begin < ns;) {
  }
}

__global__ void ComputeKernel(const int4* memory, int64_t count, int64_t compute_ns, int64_t* out) {
  int sum = 0;
  for (int64_t tile = blockIdx.x * kTileWords; tile < count; tile += gridDim.x * kTileWords) {
    for (int64_t i = threadIdx.x; i < kTileWords && tile + i < count; i += blockDim.x) {
      sum += __ldcg(memory + tile + i).x;
    }
    __syncthreads();
    SpinFor(compute_ns);
  }
  if (sum == -1) {
    *out = sum;
  }
}

__global__ void SpinKernel(int64_t compute_ns) {
  SpinFor(compute_ns);
}

unsigned Multiprocessors() {
  static const int count = [] {
    int value = 0;
    Check(cudaDeviceGetAttribute(&value, cudaDevAttrMultiProcessorCount, 0), "attribute");
    return value;
  }();
  return static_cast<unsigned>(count);
}

const int4* Words(const char* memory) {
  return reinterpret_cast<const int4*>(memory);
}

int64_t NumWords(int64_t bytes) {
  return bytes / static_cast<int64_t>(sizeof(int4));
}

}  // namespace

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

void LaunchMark() {
  orrery_experiment_mark<<<1, 1>>>();
}

void LaunchChase(const char* memory, const uint32_t* pages, int64_t count, int64_t* out) {
  ChaseKernel<<<1, 1>>>(memory, pages, count, 0, out);
}

void LaunchTouch(const char* memory, const uint32_t* pages, int64_t count, int threads_per_group,
                 int64_t* out) {
  const auto groups = static_cast<unsigned>((count + threads_per_group - 1) / threads_per_group);
  TouchKernel<<<groups, threads_per_group>>>(memory, pages, count, out);
}

void LaunchRead(const char* memory, int64_t bytes, int64_t* out) {
  ReadKernel<<<Multiprocessors() * 8, kThreads>>>(Words(memory), NumWords(bytes), out);
}

void LaunchWrite(char* memory, int64_t bytes) {
  WriteKernel<<<Multiprocessors() * 8, kThreads>>>(reinterpret_cast<int4*>(memory),
                                                   NumWords(bytes));
}

void LaunchCompute(const char* memory, int64_t bytes, int64_t compute_ns, int64_t* out) {
  ComputeKernel<<<Multiprocessors() * 2, kThreads>>>(Words(memory), NumWords(bytes), compute_ns,
                                                     out);
}

void LaunchSpin(int64_t compute_ns, cudaStream_t stream) {
  SpinKernel<<<Multiprocessors(), kThreads, 0, stream>>>(compute_ns);
}

}  // namespace managed
