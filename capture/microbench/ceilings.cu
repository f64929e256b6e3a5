// Measures the ceilings of a GPU machine, one CSV row each:
// `ceiling,value,unit,gpu,sm_mhz,mem_mhz,driver,cuda`.
//
// Bandwidths count bytes read plus bytes written. Every figure is a median over repeats that take a
// quarter of a second together; the clocks are those read while it was taken.

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>

namespace {

constexpr int64_t kMiB = int64_t{1} << 20;
constexpr int64_t kGiB = int64_t{1} << 30;

/// Ends the program when a CUDA call failed: no figure after that would mean anything.
void Check(cudaError_t status, const char* what) {
  if (status != cudaSuccess) {
    std::fprintf(stderr, "ceilings: %s: %s\n", what, cudaGetErrorString(status));
    std::exit(1);
  }
}

/// Reads clocks and driver in the background through one nvidia-smi that keeps printing.
class Clocks {
 public:
  Clocks() : thread_([this] { Read(); }) { thread_.detach(); }
  int sm_mhz() const { return sm_mhz_; }
  int mem_mhz() const { return mem_mhz_; }

 private:
  // The pipe is never closed: nvidia-smi ends when its next line finds no reader.
  void Read() {
    FILE* pipe = popen(
        "exec nvidia-smi --query-gpu=clocks.sm,clocks.mem --format=csv,noheader,nounits -i 0 -lms 100"
        " 2>/dev/null",
        "r");
    int sm = 0;
    int mem = 0;
    while (pipe != nullptr && std::fscanf(pipe, "%d , %d", &sm, &mem) == 2) {
      sm_mhz_ = sm;
      mem_mhz_ = mem;
    }
  }

  std::atomic<int> sm_mhz_{0};
  std::atomic<int> mem_mhz_{0};
  std::thread thread_;
};

std::string DriverVersion() {
  char line[64] = "";
  FILE* pipe = popen("nvidia-smi --query-gpu=driver_version --format=csv,noheader -i 0 2>/dev/null", "r");
  if (pipe != nullptr) {
    if (std::fgets(line, sizeof line, pipe) == nullptr) {
      line[0] = 0;
    }
    pclose(pipe);
  }
  std::string version(line);
  version.erase(version.find_last_not_of(" \n") + 1);
  return version;
}

/// Writes the rows.
class Report {
 public:
  Report() : driver_(DriverVersion()) {
    cudaDeviceProp properties;
    Check(cudaGetDeviceProperties(&properties, 0), "reading the device");
    int runtime = 0;
    Check(cudaRuntimeGetVersion(&runtime), "reading the version");
    gpu_ = properties.name;
    cuda_ = std::to_string(runtime / 1000) + "." + std::to_string(runtime % 1000 / 10);
    std::printf("ceiling,value,unit,gpu,sm_mhz,mem_mhz,driver,cuda\n");
  }

  void Row(const std::string& ceiling, double value, const char* unit) {
    std::printf("%s,%.6g,%s,%s,%d,%d,%s,%s\n", ceiling.c_str(), value, unit, gpu_.c_str(),
                clocks_.sm_mhz(), clocks_.mem_mhz(), driver_.c_str(), cuda_.c_str());
    std::fflush(stdout);
  }

 private:
  Clocks clocks_;
  std::string driver_;
  std::string gpu_;
  std::string cuda_;
};

using Work = std::function<void()>;

/// Times `count` calls of `work` between two events; seconds of one.
double OnceSeconds(const Work& work, int count) {
  cudaEvent_t begin;
  cudaEvent_t end;
  Check(cudaEventCreate(&begin), "event");
  Check(cudaEventCreate(&end), "event");
  Check(cudaEventRecord(begin), "event");
  for (int i = 0; i < count; ++i) {
    work();
  }
  Check(cudaEventRecord(end), "event");
  Check(cudaEventSynchronize(end), "timed work");
  Check(cudaGetLastError(), "timed work");
  float milliseconds = 0;
  Check(cudaEventElapsedTime(&milliseconds, begin, end), "event");
  cudaEventDestroy(begin);
  cudaEventDestroy(end);
  return milliseconds * 1e-3 / count;
}

double Median(std::vector<double> values) {
  std::nth_element(values.begin(), values.begin() + values.size() / 2, values.end());
  return values[values.size() / 2];
}

/// Times work: short calls many at a time, until a quarter of a second is spent.
double MedianSeconds(const Work& work) {
  OnceSeconds(work, 2);
  const double rough = std::max(1e-7, OnceSeconds(work, 3));
  const int count = static_cast<int>(std::clamp(2e-3 / rough, 1.0, 1000.0));
  const int repeats = static_cast<int>(std::clamp(0.25 / (rough * count), 5.0, 100.0));
  std::vector<double> seconds;
  for (int i = 0; i < repeats; ++i) {
    seconds.push_back(OnceSeconds(work, count));
  }
  return Median(seconds);
}

// --- Memory ---

int Blocks() {
  int multiprocessors = 0;
  Check(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, 0), "attribute");
  return multiprocessors * 16;
}

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
  return bytes >= kGiB ? std::to_string(bytes / kGiB) + "GiB" : std::to_string(bytes / kMiB) + "MiB";
}

void MeasureMemoryAt(Report& report, float4* in, float4* out, int64_t bytes) {
  const int64_t count = bytes / static_cast<int64_t>(sizeof(float4));
  const int blocks = Blocks();
  const auto row = [&](const char* name, double moved, const Work& work) {
    report.Row(std::string(name) + "_" + SizeName(bytes), moved / MedianSeconds(work) / 1e9, "GB/s");
  };
  const auto size = static_cast<double>(bytes);
  row("memory_read", size, [&] {
    ReadKernel<<<blocks, 256>>>(in, count, 1, reinterpret_cast<float*>(out));
  });
  row("memory_write", size, [&] { WriteKernel<<<blocks, 256>>>(out, count, 1.0F); });
  row("memory_copy", 2 * size, [&] { CopyKernel<<<blocks, 256>>>(in, out, count); });
  row("memory_copy_engine", 2 * size,
      [&] { Check(cudaMemcpyAsync(out, in, bytes, cudaMemcpyDeviceToDevice), "copy"); });
}

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
      ReadKernel<<<Blocks(), 256>>>(in, bytes / sizeof(float4), kPasses, reinterpret_cast<float*>(out));
    });
    report.Row("l2_read_" + SizeName(bytes), static_cast<double>(bytes) * kPasses / seconds / 1e9,
               "GB/s");
  }
  Check(cudaFree(in), "free");
  Check(cudaFree(out), "free");
}

// --- Host link ---

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

// --- Launches ---

__global__ void EmptyKernel() {}

__global__ void FlagKernel(volatile int* flag, int value) { *flag = value; }

double HostSeconds(const Work& work) {
  const auto begin = std::chrono::steady_clock::now();
  work();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// From the call of a launch on an idle GPU until the host sees what the kernel wrote.
double LaunchToFlagSeconds() {
  int* flag = nullptr;
  Check(cudaHostAlloc(&flag, sizeof(int), cudaHostAllocMapped), "mapped memory");
  auto* seen = const_cast<volatile int*>(flag);
  std::vector<double> seconds;
  for (int value = 1; value <= 500; ++value) {
    seconds.push_back(HostSeconds([&] {
      FlagKernel<<<1, 1>>>(flag, value);
      while (*seen != value) {
      }
    }));
    Check(cudaDeviceSynchronize(), "flag");
  }
  Check(cudaFreeHost(flag), "free");
  return Median(seconds);
}

/// Captures `kernels` empty kernels into a graph.
cudaGraphExec_t EmptyGraph(int kernels) {
  cudaStream_t stream;
  cudaGraph_t graph;
  cudaGraphExec_t executable;
  Check(cudaStreamCreate(&stream), "stream");
  Check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal), "capture");
  for (int i = 0; i < kernels; ++i) {
    EmptyKernel<<<1, 1, 0, stream>>>();
  }
  Check(cudaStreamEndCapture(stream, &graph), "capture");
  Check(cudaGraphInstantiate(&executable, graph, 0), "graph");
  Check(cudaGraphDestroy(graph), "graph");
  Check(cudaStreamDestroy(stream), "stream");
  return executable;
}

void MeasureLaunches(Report& report) {
  constexpr int kGraphKernels = 500;
  report.Row("launch_back_to_back", MedianSeconds([] { EmptyKernel<<<1, 1>>>(); }) * 1e6, "us");
  std::vector<double> calls;
  for (int i = 0; i < 500; ++i) {
    calls.push_back(HostSeconds([] { EmptyKernel<<<1, 1>>>(); }));
    Check(cudaDeviceSynchronize(), "launch");
  }
  report.Row("launch_call", Median(calls) * 1e6, "us");
  report.Row("launch_to_flag", LaunchToFlagSeconds() * 1e6, "us");
  const cudaGraphExec_t graph = EmptyGraph(kGraphKernels);
  const cudaGraphExec_t single = EmptyGraph(1);
  const auto seconds = MedianSeconds([&] { Check(cudaGraphLaunch(graph, nullptr), "graph"); });
  report.Row("graph_kernel", seconds / kGraphKernels * 1e6, "us");
  report.Row("graph_launch_of_one",
             MedianSeconds([&] { Check(cudaGraphLaunch(single, nullptr), "graph"); }) * 1e6, "us");
}

// --- Arithmetic ---

__device__ float RandomNormal(uint64_t i) {
  float sum = 0;
  for (int part = 0; part < 4; ++part) {
    uint64_t x = (i * 4 + part + 1) * 0x9E3779B97F4A7C15ULL;
    x = (x ^ (x >> 30)) * 0xBF58476D1CE4E5B9ULL;
    x = (x ^ (x >> 27)) * 0x94D049BB133111EBULL;
    sum += static_cast<float>((x >> 40) & 0xFFFFFF) / 16777216.0F - 0.5F;
  }
  return sum * 1.7320508F;
}

template <typename T>
__global__ void RandomKernel(T* out, int64_t count) {
  const int64_t step = int64_t{gridDim.x} * blockDim.x;
  for (int64_t i = blockIdx.x * int64_t{blockDim.x} + threadIdx.x; i < count; i += step) {
    out[i] = T(RandomNormal(static_cast<uint64_t>(i)));
  }
}

template <typename T>
void* RandomMatrix(int64_t count) {
  T* out = nullptr;
  Check(cudaMalloc(&out, count * static_cast<int64_t>(sizeof(T))), "a matrix");
  RandomKernel<T><<<Blocks(), 256>>>(out, count);
  Check(cudaDeviceSynchronize(), "random numbers");
  return out;
}

struct MatrixType {
  const char* name;
  cudaDataType_t input;
  cudaDataType_t output;
  cublasComputeType_t compute;
  void* (*random)(int64_t);
};

constexpr MatrixType kMatrixTypes[] = {
    {"bf16", CUDA_R_16BF, CUDA_R_16BF, CUBLAS_COMPUTE_32F, RandomMatrix<__nv_bfloat16>},
    {"fp16", CUDA_R_16F, CUDA_R_16F, CUBLAS_COMPUTE_32F, RandomMatrix<__half>},
    {"tf32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F_FAST_TF32, RandomMatrix<float>},
    {"fp32", CUDA_R_32F, CUDA_R_32F, CUBLAS_COMPUTE_32F, RandomMatrix<float>},
    {"fp8", CUDA_R_8F_E4M3, CUDA_R_16BF, CUBLAS_COMPUTE_32F, RandomMatrix<__nv_fp8_e4m3>},
};

/// One product D[m,n] = A·B through cuBLASLt with A stored transposed, as every type can do it.
class Product {
 public:
  Product(const MatrixType& type, int64_t m, int64_t n, int64_t k) {
    ok_ = cublasLtCreate(&handle_) == CUBLAS_STATUS_SUCCESS &&
          cublasLtMatmulDescCreate(&product_, type.compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    ok_ = ok_ && cublasLtMatmulDescSetAttribute(product_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
                                                sizeof transposed) == CUBLAS_STATUS_SUCCESS;
    cublasLtMatrixLayoutCreate(&a_layout_, type.input, k, m, k);
    cublasLtMatrixLayoutCreate(&b_layout_, type.input, k, n, k);
    cublasLtMatrixLayoutCreate(&d_layout_, type.output, m, n, m);
    a_ = type.random(m * k);
    b_ = type.random(k * n);
    Check(cudaMalloc(&d_, m * n * 4), "a matrix");
    Check(cudaMalloc(&workspace_, kWorkspaceBytes), "workspace");
    ok_ = ok_ && ChooseAlgorithm();
  }
  Product(const Product&) = delete;
  Product& operator=(const Product&) = delete;
  ~Product() {
    for (void* memory : {a_, b_, d_, workspace_}) {
      cudaFree(memory);
    }
    for (cublasLtMatrixLayout_t layout : {a_layout_, b_layout_, d_layout_}) {
      cublasLtMatrixLayoutDestroy(layout);
    }
    cublasLtMatmulDescDestroy(product_);
    cublasLtDestroy(handle_);
  }

  /// Says whether the library has an algorithm for the type.
  bool ok() const { return ok_; }

  bool Run() const {
    const float one = 1;
    const float zero = 0;
    return cublasLtMatmul(handle_, product_, &one, a_, a_layout_, b_, b_layout_, &zero, d_, d_layout_,
                          d_, d_layout_, &found_.algo, workspace_, kWorkspaceBytes,
                          nullptr) == CUBLAS_STATUS_SUCCESS;
  }

 private:
  static constexpr size_t kWorkspaceBytes = 64 * kMiB;

  bool ChooseAlgorithm() {
    cublasLtMatmulPreference_t preference;
    cublasLtMatmulPreferenceCreate(&preference);
    cublasLtMatmulPreferenceSetAttribute(preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                         &kWorkspaceBytes, sizeof kWorkspaceBytes);
    int count = 0;
    const auto status =
        cublasLtMatmulAlgoGetHeuristic(handle_, product_, a_layout_, b_layout_, d_layout_, d_layout_,
                                       preference, 1, &found_, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    return status == CUBLAS_STATUS_SUCCESS && count == 1;
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t product_ = nullptr;
  cublasLtMatrixLayout_t a_layout_ = nullptr;
  cublasLtMatrixLayout_t b_layout_ = nullptr;
  cublasLtMatrixLayout_t d_layout_ = nullptr;
  cublasLtMatmulHeuristicResult_t found_{};
  void* a_ = nullptr;
  void* b_ = nullptr;
  void* d_ = nullptr;
  void* workspace_ = nullptr;
  bool ok_ = false;
};

void MeasureProduct(Report& report, const MatrixType& type, int64_t m, int64_t n, int64_t k) {
  const Product product(type, m, n, k);
  if (!product.ok() || !product.Run()) {
    std::fprintf(stderr, "ceilings: this GPU's library has no %s product; left out\n", type.name);
    return;
  }
  const double flops = 2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double seconds = MedianSeconds([&] { product.Run(); });
  report.Row(std::string("matrix_") + type.name + "_" + std::to_string(m) + "x" + std::to_string(n) +
                 "x" + std::to_string(k),
             flops / seconds / 1e12, "TFLOP/s");
}

constexpr int kChains = 8;
constexpr int kSteps = 4096;

__global__ void FmaKernel(float* out, float factor) {
  float value[kChains];
  for (int i = 0; i < kChains; ++i) {
    value[i] = static_cast<float>(threadIdx.x + i);
  }
#pragma unroll 16
  for (int step = 0; step < kSteps; ++step) {
#pragma unroll
    for (int i = 0; i < kChains; ++i) {
      value[i] = fmaf(value[i], factor, 0.5F);
    }
  }
  float sum = 0;
  for (float one : value) {
    sum += one;
  }
  if (sum == 1.2345e30F) {
    *out = sum;
  }
}

void MeasureArithmetic(Report& report) {
  for (const MatrixType& type : kMatrixTypes) {
    MeasureProduct(report, type, 8192, 8192, 8192);
    MeasureProduct(report, type, 16384, 8192, 8192);
  }
  float* out = nullptr;
  Check(cudaMalloc(&out, sizeof(float)), "memory");
  const int blocks = Blocks();
  const double seconds = MedianSeconds([&] { FmaKernel<<<blocks, 256>>>(out, 0.999F); });
  report.Row("vector_fp32_fma", 2.0 * kChains * kSteps * 256.0 * blocks / seconds / 1e12, "TFLOP/s");
  Check(cudaFree(out), "free");
}

}  // namespace

int main() {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    std::fprintf(stderr, "ceilings: CUDA sees no GPU on this machine\n");
    return 2;
  }
  static Report report;  // outlives the thread that reads clocks
  MeasureMemory(report);
  MeasureLink(report);
  MeasureLaunches(report);
  MeasureArithmetic(report);
  return 0;
}
