#include "orrery/trace/kernel_class.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>

#include "orrery/base/columns.h"
#include "orrery/base/string_table.h"
#include "orrery/base/text.h"
#include "orrery/trace/collective_names.h"
#include "orrery/trace/enums.h"

namespace orrery::trace {
namespace {

using enum KernelClass;

struct NamePattern {
  std::string_view needle;  // in the lower-case name
  KernelClass kernel_class;
};

// Kernel names, in order: the first needle that occurs decides. Specific words come before the
// general ones that also occur in their names ("softmax" in attention kernels, "reduce" nearly
// everywhere); communication was decided before.
constexpr std::array kKernelPatterns{
    // Fused attention, forward and backward, of all libraries.
    NamePattern{"flash", kAttention},
    NamePattern{"fmha", kAttention},
    NamePattern{"attention", kAttention},
    NamePattern{"_attn", kAttention},
    NamePattern{"attn_", kAttention},
    NamePattern{"mha_", kAttention},
    NamePattern{"sdpa", kAttention},
    NamePattern{"mla_", kAttention},
    NamePattern{"pytorch_flash", kAttention},
    // Mixture of experts: where tokens go, then what the experts do.
    NamePattern{"topkgating", kMoeRouting},
    NamePattern{"topk_gating", kMoeRouting},
    NamePattern{"topksoftmax", kMoeRouting},
    NamePattern{"topk_softmax", kMoeRouting},
    NamePattern{"moe_align", kMoeRouting},
    NamePattern{"moealign", kMoeRouting},
    NamePattern{"moe_permute", kMoeRouting},
    NamePattern{"moe_unpermute", kMoeRouting},
    NamePattern{"permute_kernel", kMoeRouting},
    NamePattern{"unpermute_kernel", kMoeRouting},
    NamePattern{"expandinputrows", kMoeRouting},
    NamePattern{"finalizemoerouting", kMoeRouting},
    NamePattern{"moe_sum", kMoeRouting},
    NamePattern{"routing", kMoeRouting},
    NamePattern{"moe_gate", kMoeRouting},
    NamePattern{"fused_moe", kMoeExpert},
    NamePattern{"moe_gemm", kMoeExpert},
    NamePattern{"moe_wna16", kMoeExpert},
    NamePattern{"grouped_gemm", kMoeExpert},
    NamePattern{"groupedgemm", kMoeExpert},
    NamePattern{"group_gemm", kMoeExpert},
    NamePattern{"moe", kMoeExpert},
    // Optimizers, before the element-wise templates they are made of.
    NamePattern{"adam", kOptimizer},
    NamePattern{"lamb_", kOptimizer},
    NamePattern{"sgd", kOptimizer},
    NamePattern{"adagrad", kOptimizer},
    NamePattern{"multi_tensor_apply", kOptimizer},
    NamePattern{"multitensorapply", kOptimizer},
    // Embedding tables.
    NamePattern{"embedding", kEmbedding},
    NamePattern{"split_embedding", kEmbedding},
    NamePattern{"indexselect", kEmbedding},
    NamePattern{"bounds_check_indices", kEmbedding},
    // Softmax and normalisation.
    NamePattern{"softmax", kSoftmax},
    NamePattern{"cross_entropy", kSoftmax},
    NamePattern{"nll_loss", kSoftmax},
    NamePattern{"layernorm", kNormalisation},
    NamePattern{"layer_norm", kNormalisation},
    NamePattern{"rmsnorm", kNormalisation},
    NamePattern{"rms_norm", kNormalisation},
    NamePattern{"batchnorm", kNormalisation},
    NamePattern{"batch_norm", kNormalisation},
    NamePattern{"groupnorm", kNormalisation},
    NamePattern{"group_norm", kNormalisation},
    NamePattern{"bn_fw", kNormalisation},
    NamePattern{"bn_bw", kNormalisation},
    NamePattern{"rowwisemoments", kNormalisation},
    NamePattern{"gammabeta", kNormalisation},
    NamePattern{"norm_kernel", kNormalisation},
    NamePattern{"ln_fwd", kNormalisation},
    NamePattern{"ln_bwd", kNormalisation},
    // Convolution before GEMM: implicit GEMM kernels carry both words.
    NamePattern{"convert", kElementwise},
    NamePattern{"conv", kConvolution},
    NamePattern{"fprop", kConvolution},
    NamePattern{"dgrad", kConvolution},
    NamePattern{"wgrad", kConvolution},
    NamePattern{"winograd", kConvolution},
    NamePattern{"im2col", kConvolution},
    NamePattern{"col2im", kConvolution},
    NamePattern{"miopensp3asm", kConvolution},
    NamePattern{"nchwtonhwc", kCopyLike},
    NamePattern{"nhwctonchw", kCopyLike},
    NamePattern{"gemm", kGemm},
    NamePattern{"cutlass", kGemm},
    NamePattern{"cublas", kGemm},
    NamePattern{"splitkreduce", kGemm},
    NamePattern{"nvjet", kGemm},
    NamePattern{"xmma", kGemm},
    NamePattern{"matmul", kGemm},
    NamePattern{"gemv", kGemm},
    NamePattern{"triton_mm", kGemm},
    NamePattern{"triton_tem_fused_mm", kGemm},
    NamePattern{"triton_tem_fused_addmm", kGemm},
    NamePattern{"triton_tem_fused_bmm", kGemm},
    NamePattern{"cijk_", kGemm},  // Tensile, hipBLASLt
    NamePattern{"dot_kernel", kGemm},
    // Moving data without arithmetic.
    NamePattern{"copybuffer", kCopyLike},
    NamePattern{"fillbuffer", kCopyLike},
    NamePattern{"copy_kernel", kCopyLike},
    NamePattern{"direct_copy", kCopyLike},
    NamePattern{"catarray", kCopyLike},
    NamePattern{"transpose", kCopyLike},
    NamePattern{"memcpy", kCopyLike},
    NamePattern{"memset", kCopyLike},
    NamePattern{"fillfunctor", kCopyLike},
    NamePattern{"triton_poi_fused_cat", kCopyLike},
    NamePattern{"triton_poi_fused_clone", kCopyLike},
    NamePattern{"triton_poi_fused_copy", kCopyLike},
    NamePattern{"triton_poi", kElementwise},
    NamePattern{"triton_red", kReduction},
    NamePattern{"triton_per", kReduction},
    // ATen's templates.
    NamePattern{"reduce_kernel", kReduction},
    NamePattern{"devicereduce", kReduction},
    NamePattern{"reduceop", kReduction},
    NamePattern{"sum_kernel", kReduction},
    NamePattern{"mean_kernel", kReduction},
    NamePattern{"argmax", kReduction},
    NamePattern{"devicescan", kReduction},
    NamePattern{"elementwise", kElementwise},
    NamePattern{"pointwise", kElementwise},
    NamePattern{"vectorized", kElementwise},
    NamePattern{"dropout", kElementwise},
    NamePattern{"rope", kElementwise},
    NamePattern{"rotary", kElementwise},
    NamePattern{"act_and_mul", kElementwise},
    NamePattern{"tensoriterator", kElementwise},
    NamePattern{"unary", kElementwise},
    NamePattern{"binary", kElementwise},
    NamePattern{"gelu", kElementwise},
    NamePattern{"silu", kElementwise},
    NamePattern{"relu", kElementwise},
    NamePattern{"scatter_gather", kCopyLike},
    NamePattern{"indexing", kCopyLike},
    NamePattern{"index_", kCopyLike},
    NamePattern{"reduce", kReduction},
};

// Operators, for kernels with generic names.
constexpr std::array kOperatorPatterns{
    NamePattern{"optimizer", kOptimizer},
    NamePattern{"_fused_adam", kOptimizer},
    NamePattern{"_foreach_", kOptimizer},
    NamePattern{"attention", kAttention},
    NamePattern{"embedding", kEmbedding},
    NamePattern{"convolution", kConvolution},
    NamePattern{"layer_norm", kNormalisation},
    NamePattern{"batch_norm", kNormalisation},
    NamePattern{"group_norm", kNormalisation},
    NamePattern{"softmax", kSoftmax},
    NamePattern{"aten::mm", kGemm},
    NamePattern{"aten::addmm", kGemm},
    NamePattern{"aten::bmm", kGemm},
    NamePattern{"aten::baddbmm", kGemm},
    NamePattern{"aten::copy_", kCopyLike},
    NamePattern{"aten::cat", kCopyLike},
    NamePattern{"aten::sum", kReduction},
    NamePattern{"aten::mean", kReduction},
};

template <std::size_t kSize>
KernelClass FirstMatch(const std::array<NamePattern, kSize>& patterns, std::string_view name) {
  const std::string lower = LowerCase(name);
  for (const NamePattern& pattern : patterns) {
    if (lower.find(pattern.needle) != std::string::npos) {
      return pattern.kernel_class;
    }
  }
  return kOther;
}

// Names repeat thousands of times, so each is classified once.
class NameCache {
 public:
  NameCache(const Trace& trace, KernelClass (*classify)(std::string_view))
      : trace_(trace), classify_(classify), known_(trace.strings.size(), kUnknown) {}

  KernelClass operator()(StringId name) {
    int& slot = known_[static_cast<std::size_t>(name)];
    if (slot == kUnknown) {
      slot = static_cast<int>(classify_(trace_.Text(name)));
    }
    return static_cast<KernelClass>(slot);
  }

 private:
  static constexpr int kUnknown = -1;

  const Trace& trace_;
  KernelClass (*classify_)(std::string_view);
  std::vector<int> known_;
};

}  // namespace

std::string_view KernelClassName(KernelClass kernel_class) {
  constexpr std::array<std::string_view, kNumKernelClasses> kNames{
      "other",         "communication", "gemm",         "attention", "convolution",
      "normalisation", "softmax",       "element-wise", "reduction", "moe routing",
      "moe expert",    "embedding",     "optimizer",    "copy-like", "memory"};
  return kNames[static_cast<std::size_t>(kernel_class)];
}

KernelClass ClassifyKernel(std::string_view name) {
  return ClassifyCommunicationKernel(name) ? kCommunication : FirstMatch(kKernelPatterns, name);
}

KernelClass ClassifyOperator(std::string_view name) {
  return FirstMatch(kOperatorPatterns, name);
}

std::vector<KernelClass> ClassifyActivities(const Trace& trace) {
  const Activities& activities = trace.activities;
  NameCache by_kernel(trace, &ClassifyKernel);
  NameCache by_operator(trace, &ClassifyOperator);
  std::vector<KernelClass> classes(activities.size(), kOther);
  for (std::size_t row = 0; row < activities.size(); ++row) {
    const ActivityKind kind = activities.kind[row];
    if (kind == ActivityKind::kMemcpy || kind == ActivityKind::kMemset) {
      classes[row] = kMemory;
      continue;
    }
    if (activities.collective[row] != kNoRow) {
      classes[row] = kCommunication;
      continue;
    }
    classes[row] = by_kernel(activities.name[row]);
    const RowId op = activities.host_op[row];
    const bool is_vague = classes[row] == kOther || classes[row] == kElementwise;
    if (is_vague && op != kNoRow) {
      const KernelClass refined = by_operator(trace.host_ops.name[op]);
      classes[row] = refined == kOther ? classes[row] : refined;
    }
  }
  return classes;
}

}  // namespace orrery::trace
