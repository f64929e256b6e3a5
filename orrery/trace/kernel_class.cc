#include "orrery/trace/kernel_class.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <optional>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/base/text/text.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/row_index.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

using enum KernelClass;

struct ClassWords {
  KernelClass kernel_class;
  std::string_view words;  // in the lower-case name; separated by blanks
};

// Kernel names, in order: the first word that occurs decides. Specific words come before the
// general ones that also occur in their names ("softmax" in attention kernels, "reduce" nearly
// everywhere); communication was decided before.
constexpr std::array kKernelWords{
    ClassWords{kAttention, "flash fmha attention _attn attn_ mha_ sdpa mla_"},
    ClassWords{kMoeRouting,
               "topkgating topk_gating topksoftmax topk_softmax moe_align moealign moe_permute "
               "moe_unpermute permute_kernel unpermute_kernel expandinputrows finalizemoerouting "
               "moe_sum routing moe_gate"},
    // "GroupProblemShape" and "GemmGrouped" are CUTLASS.
    ClassWords{kMoeExpert,
               "fused_moe moe_gemm moe_wna16 grouped_gemm groupedgemm group_gemm groupproblemshape "
               "gemmgrouped moe"},
    // Before the element-wise templates that optimizers are made of.
    ClassWords{kOptimizer, "adam lamb_ sgd adagrad multi_tensor_apply multitensorapply"},
    ClassWords{kEmbedding, "embedding split_embedding indexselect bounds_check_indices"},
    ClassWords{kSoftmax, "softmax cross_entropy nll_loss"},
    ClassWords{kNormalisation,
               "layernorm layer_norm rmsnorm rms_norm batchnorm batch_norm groupnorm group_norm "
               "bn_fw bn_bw rowwisemoments gammabeta norm_kernel ln_fwd ln_bwd"},
    ClassWords{kElementwise, "convert"},
    // Before GEMM: implicit GEMM kernels carry both words.
    ClassWords{kConvolution, "conv fprop dgrad wgrad winograd im2col col2im miopensp3asm"},
    ClassWords{kCopyLike, "nchwtonhwc nhwctonchw"},
    // "cijk_" is Tensile and hipBLASLt.
    ClassWords{kGemm,
               "gemm cutlass cublas splitkreduce nvjet xmma matmul gemv triton_mm "
               "triton_tem_fused_mm triton_tem_fused_addmm triton_tem_fused_bmm cijk_ dot_kernel"},
    ClassWords{
        kCopyLike,
        "copybuffer fillbuffer copy_kernel direct_copy split_with_sizes_copy chunk_cat catarray "
        "transpose memcpy memset fillfunctor triton_poi_fused_cat triton_poi_fused_clone "
        "triton_poi_fused_copy"},
    ClassWords{kElementwise, "triton_poi"},
    ClassWords{kReduction,
               "triton_red triton_per reduce_kernel devicereduce reduceop sum_kernel mean_kernel "
               "argmax devicescan"},
    ClassWords{kElementwise,
               "elementwise pointwise vectorized dropout rope rotary act_and_mul tensoriterator "
               "unary binary gelu silu relu"},
    ClassWords{kCopyLike, "scatter_gather indexing index_"},
    ClassWords{kReduction, "reduce"},
};

// Operators, for kernels with generic names.
constexpr std::array kOperatorWords{
    ClassWords{kOptimizer, "optimizer _fused_adam _foreach_"},
    ClassWords{kAttention, "attention"},
    ClassWords{kEmbedding, "embedding"},
    ClassWords{kConvolution, "convolution"},
    ClassWords{kNormalisation, "layer_norm batch_norm group_norm"},
    ClassWords{kSoftmax, "softmax"},
    ClassWords{kGemm, "aten::mm aten::addmm aten::bmm aten::baddbmm"},
    ClassWords{kCopyLike, "aten::copy_ aten::cat"},
    ClassWords{kReduction, "aten::sum aten::mean"},
};

KernelClass FirstMatch(std::span<const ClassWords> classes, std::string_view name) {
  const std::string lower = LowerCase(name);
  const auto found = std::ranges::find_if(classes, [&](const ClassWords& candidate) {
    return std::ranges::any_of(std::views::split(candidate.words, ' '), [&](const auto& word) {
      return Contains(lower, std::string_view(word.begin(), word.end()));
    });
  });
  return found == classes.end() ? kOther : found->kernel_class;
}

constexpr std::array<std::string_view, kNumKernelClasses> kNames{
    "other",         "communication", "gemm",         "attention", "convolution",
    "normalisation", "softmax",       "element-wise", "reduction", "moe routing",
    "moe expert",    "embedding",     "optimizer",    "copy-like", "memory"};

// The class among the arguments of a kernel.
std::optional<KernelClass> StatedClass(std::string_view arguments) {
  const std::size_t at = arguments.find(kClassArgument);
  if (at == std::string_view::npos) {
    return std::nullopt;
  }
  const std::string_view rest = arguments.substr(at + kClassArgument.size());
  const auto found = std::ranges::find(kNames, rest.substr(0, rest.find('"')));
  return found == kNames.end() ? std::nullopt
                               : std::optional(static_cast<KernelClass>(found - kNames.begin()));
}

}  // namespace

std::string_view KernelClassName(KernelClass kernel_class) {
  return kNames[static_cast<std::size_t>(kernel_class)];
}

KernelClass ClassifyKernel(std::string_view name) {
  return ClassifyCommunicationKernel(name) ? kCommunication : FirstMatch(kKernelWords, name);
}

KernelClass ClassifyOperator(std::string_view name) {
  return FirstMatch(kOperatorWords, name);
}

std::vector<KernelClass> ClassifyActivities(const Trace& trace) {
  const Activities& activities = trace.activities;
  PerName by_kernel(trace, &ClassifyKernel);
  PerName by_operator(trace, &ClassifyOperator);
  PerName stated(trace, &StatedClass);
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
    if (const auto known = stated(activities.extra[row])) {
      classes[row] = *known;
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
