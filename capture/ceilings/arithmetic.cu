#include <cstdio>

#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>

#include "ceilings.h"

namespace ceilings {
namespace {

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

/// One GEMM D[m,n] = A·B through cuBLASLt with A stored transposed, as every type can do it.
class Gemm {
 public:
  Gemm(const MatrixType& type, int64_t m, int64_t n, int64_t k) {
    ok_ = cublasLtCreate(&handle_) == CUBLAS_STATUS_SUCCESS &&
          cublasLtMatmulDescCreate(&operation_, type.compute, CUDA_R_32F) == CUBLAS_STATUS_SUCCESS;
    const cublasOperation_t transposed = CUBLAS_OP_T;
    ok_ =
        ok_ && cublasLtMatmulDescSetAttribute(operation_, CUBLASLT_MATMUL_DESC_TRANSA, &transposed,
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

  Gemm(const Gemm&) = delete;
  Gemm& operator=(const Gemm&) = delete;

  ~Gemm() {
    for (void* memory : {a_, b_, d_, workspace_}) {
      cudaFree(memory);
    }
    for (cublasLtMatrixLayout_t layout : {a_layout_, b_layout_, d_layout_}) {
      cublasLtMatrixLayoutDestroy(layout);
    }
    cublasLtMatmulDescDestroy(operation_);
    cublasLtDestroy(handle_);
  }

  /// Says whether the library has an algorithm for the type.
  bool ok() const { return ok_; }

  bool Run() const {
    const float one = 1;
    const float zero = 0;
    return cublasLtMatmul(handle_, operation_, &one, a_, a_layout_, b_, b_layout_, &zero, d_,
                          d_layout_, d_, d_layout_, &found_.algo, workspace_, kWorkspaceBytes,
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
        cublasLtMatmulAlgoGetHeuristic(handle_, operation_, a_layout_, b_layout_, d_layout_,
                                       d_layout_, preference, 1, &found_, &count);
    cublasLtMatmulPreferenceDestroy(preference);
    return status == CUBLAS_STATUS_SUCCESS && count == 1;
  }

  cublasLtHandle_t handle_ = nullptr;
  cublasLtMatmulDesc_t operation_ = nullptr;
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

void MeasureGemm(Report& report, const MatrixType& type, int64_t m, int64_t n, int64_t k) {
  const Gemm gemm(type, m, n, k);
  if (!gemm.ok() || !gemm.Run()) {
    std::fprintf(stderr, "ceilings: this GPU's library has no %s GEMM; skipped\n", type.name);
    return;
  }
  const double flops =
      2.0 * static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(k);
  const double seconds = MedianSeconds([&] { gemm.Run(); });
  report.Row(std::string("matrix_") + type.name + "_" + std::to_string(m) + "x" +
                 std::to_string(n) + "x" + std::to_string(k),
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

}  // namespace

void MeasureArithmetic(Report& report) {
  for (const MatrixType& type : kMatrixTypes) {
    MeasureGemm(report, type, 8192, 8192, 8192);
    MeasureGemm(report, type, 16384, 8192, 8192);
  }
  float* out = nullptr;
  Check(cudaMalloc(&out, sizeof(float)), "memory");
  const int blocks = Blocks();
  const double seconds = MedianSeconds([&] { FmaKernel<<<blocks, 256>>>(out, 0.999F); });
  report.Row("vector_fp32_fma", 2.0 * kChains * kSteps * 256.0 * blocks / seconds / 1e12,
             "TFLOP/s");
  Check(cudaFree(out), "free");
}

}  // namespace ceilings
