#include "ceilings.h"

namespace ceilings {
namespace {

__global__ void ReadKernel(const float4* in, int64_t count, int passes, float* out) {
  float sum = 0;
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int pass = 0; pass < passes; ++pass) {
#pragma unroll 4
    for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
      const float4 value = __ldcg(in + i);  // past L1
      sum += value.x + value.y + value.z + value.w;
    }
  }
  if (sum == 1.2345e30F) {  // never, but the compiler cannot know
    *out = sum;
  }
}

__global__ void WriteKernel(float4* out, int64_t count, float value) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    out[i] = make_float4(value, value, value, value);
  }
}

__global__ void CopyKernel(const float4* in, float4* out, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
#pragma unroll 4
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    out[i] = in[i];
  }
}

std::string SizeName(int64_t bytes) {
  return bytes >= kGiB ? std::to_string(bytes / kGiB) + "GiB"
                       : std::to_string(bytes / kMiB) + "MiB";
}

void MeasureMemoryAt(Report& report, float4* in, float4* out, int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float4));
  const int blocks = Blocks();
  const auto row = [&](const char* name, double moved, const Work& work) {
    report.Row(std::string(name) + "_" + SizeName(bytes), moved / MedianSeconds(work) / 1e9,
               "GB/s");
  };
  const auto size = static_cast<double>(bytes);
  row("memory_read", size,
      [&] { ReadKernel<<<blocks, 256>>>(in, count, 1, reinterpret_cast<float*>(out)); });
  row("memory_write", size, [&] { WriteKernel<<<blocks, 256>>>(out, count, 1.0F); });
  row("memory_copy", 2 * size, [&] { CopyKernel<<<blocks, 256>>>(in, out, count); });
  row("memory_copy_engine", 2 * size,
      [&] { Check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice), "copy"); });
}

void MeasureLinkAt(Report& report, void* host, void* device, int64_t bytes, const char* pinning) {
  const auto row = [&](const char* direction, void* to, const void* from, cudaMemcpyKind kind) {
    const double seconds =
        MedianSeconds([&] { Check(cudaMemcpyAsync(to, from, bytes, kind), "copy"); });
    report.Row(std::string("link_") + direction + "_" + pinning + "_" + SizeName(bytes),
               static_cast<double>(bytes) / seconds / 1e9, "GB/s");
  };
  row("h2d", device, host, cudaMemcpyHostToDevice);
  row("d2h", host, device, cudaMemcpyDeviceToHost);
}

}  // namespace

void MeasureMemory(Report& report) {
  constexpr int64_t kLargest = 8 * kGiB;
  float4* in = nullptr;
  float4* out = nullptr;
  Check(cudaMalloc(&in, kLargest), "8 GiB of memory");
  Check(cudaMalloc(&out, kLargest), "8 GiB of memory");
  WriteKernel<<<Blocks(), 256>>>(in, kLargest / sizeof(float4), 0.7F);
  for (int64_t bytes = kMiB; bytes <= kLargest; bytes *= 2) {
    MeasureMemoryAt(report, in, out, bytes);
  }
  constexpr int kPasses = 50;
  for (const int64_t bytes : {8 * kMiB, 16 * kMiB, 24 * kMiB}) {
    const double seconds = MedianSeconds([&] {
      ReadKernel<<<Blocks(), 256>>>(in, bytes / sizeof(float4), kPasses,
                                    reinterpret_cast<float*>(out));
    });
    report.Row("l2_read_" + SizeName(bytes), static_cast<double>(bytes) * kPasses / seconds / 1e9,
               "GB/s");
  }
  Check(cudaFree(in), "free");
  Check(cudaFree(out), "free");
}

void MeasureLink(Report& report) {
  constexpr int64_t kLargest = kGiB;
  void* device = nullptr;
  void* pinned = nullptr;
  Check(cudaMalloc(&device, kLargest), "memory");
  Check(cudaMallocHost(&pinned, kLargest), "pinned memory");
  std::vector<char> pageable(kLargest, 1);
  for (const int64_t bytes : {kMiB, 16 * kMiB, 256 * kMiB, kLargest}) {
    MeasureLinkAt(report, pinned, device, bytes, "pinned");
    MeasureLinkAt(report, pageable.data(), device, bytes, "pageable");
  }
  Check(cudaFree(device), "free");
  Check(cudaFreeHost(pinned), "free");
}

}  // namespace ceilings
