#pragma once

#include "orrery/trace/trace.h"

namespace orrery::trace {

/// The purpose of a device activity.
enum class KernelClass : std::uint8_t {
  kOther,
  kCommunication,
  kGemm,
  kAttention,
  kConvolution,
  kNormalisation,
  kSoftmax,
  kElementwise,
  kReduction,
  kMoeRouting,
  kMoeExpert,
  kEmbedding,
  kOptimizer,
  kCopyLike,  // a kernel that moves data on one device
  kMemory,    // a memcpy or memset, not a kernel
};

inline constexpr int kNumKernelClasses = 15;

/// Returns "gemm", "communication", …
[[nodiscard]] std::string_view KernelClassName(KernelClass kernel_class);

/// Classifies a kernel by its name, from one table: NCCL, RCCL and their relatives (see
/// ClassifyCommunicationKernel), cuBLAS, CUTLASS, cuDNN, Triton, flash attention, ATen …
[[nodiscard]] KernelClass ClassifyKernel(std::string_view name);

/// Classifies by the operator that launched a kernel, for kernels with generic names (Triton,
/// element-wise templates under an optimizer); kOther for other operators.
[[nodiscard]] KernelClass ClassifyOperator(std::string_view name);

/// The argument that states a kernel's class, up to the name of the class. Kernels of a simulated
/// job need it, since they are named after layers.
inline constexpr std::string_view kClassArgument = "\"kernel_class\": \"";

/// Returns the class of each activity: memcpys and memsets are memory; kernels of a collective are
/// communication; else kClassArgument decides, then the name, and where it says nothing the
/// operator.
[[nodiscard]] std::vector<KernelClass> ClassifyActivities(const Trace& trace);

/// Returns true if kernels of the class compute (P in the time breakdown).
[[nodiscard]] inline bool IsCompute(KernelClass kernel_class) {
  return kernel_class != KernelClass::kCommunication && kernel_class != KernelClass::kMemory;
}

}  // namespace orrery::trace
