#include "orrery/trace/kernel_class.h"

#include <vector>

#include <gtest/gtest.h>

#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {
namespace {

using enum KernelClass;

struct Example {
  const char* name;
  KernelClass expected;
};

TEST(KernelClassTest, NamesOfRealKernels) {
  for (const Example& example : {
           Example{"ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*)", kCommunication},
           Example{"ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", kCommunication},
           Example{"ncclSymkDevKernel_AllGather_LL(ncclSymkDevWorkArgs)", kCommunication},
           Example{"void mscclpp::allreduce7<__half>(…)", kCommunication},
           Example{"void deep_ep::intranode::dispatch<8>(…)", kCommunication},
           Example{"void vllm::cross_device_reduce_1stage<__nv_bfloat16, 8>(…)", kCommunication},
           Example{"one_shot_all_reduce_kernel", kCommunication},
           Example{"nvshmemi_barrier", kCommunication},
           Example{"void cutlass::Kernel<cutlass_80_tensorop_f16_s16816gemm_f16_256x128>", kGemm},
           Example{"nvjet_hsh_256x128_64x4_2x1_v_bz_coopA_TNT", kGemm},
           Example{"Cijk_Ailk_Bljk_HHS_BH_MT128x128x32", kGemm},
           Example{"void pytorch_flash::flash_fwd_kernel<…>", kAttention},
           Example{"fmha_cutlassF_f16_aligned_64x64_rf_sm80", kAttention},
           Example{"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16", kAttention},
           Example{"sm80_xmma_fprop_implicit_gemm_f16f16", kConvolution},
           Example{"void at::native::vectorized_layer_norm_kernel<c10::Half, float>",
                   kNormalisation},
           Example{"void cunn_SoftMaxForward<8, float>", kSoftmax},
           Example{"void at::native::vectorized_elementwise_kernel<4, …AddFunctor>", kElementwise},
           Example{"void at::native::reduce_kernel<512, 1, …>", kReduction},
           Example{"triton_poi_fused_add_gelu_3", kElementwise},
           Example{"triton_red_fused_native_layer_norm_0", kNormalisation},
           Example{"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<…>",
                   kOptimizer},
           Example{"fused_moe_kernel", kMoeExpert},
           Example{
               "_ZN7cutlass13device_kernelIN…4gemm6kernel13GemmUniversalINS5_17GroupProblemShape",
               kMoeExpert},
           Example{"void vllm::moe::topkGatingSoftmax<…>", kMoeRouting},
           Example{"void indexSelectLargeIndex<…>", kEmbedding},
           Example{"void at::native::CatArrayBatchedCopy<…>", kCopyLike},
           Example{"void at::native::detail::chunk_cat_cuda_kernel<char, char>(char**, …)",
                   kCopyLike},
           Example{"at::native::detail::split_with_sizes_copy_out_contiguous_no_cast_kernel(…)",
                   kCopyLike},
           Example{"a_kernel_of_ours", kOther},
       }) {
    EXPECT_EQ(KernelClassName(ClassifyKernel(example.name)), KernelClassName(example.expected))
        << example.name;
  }
}

// The word alone does not make a collective.
TEST(KernelClassTest, BroadcastInATemplateIsNoCommunication) {
  EXPECT_NE(ClassifyKernel("void at::native::elementwise_kernel<BroadcastFunctor>"),
            kCommunication);
}

// A simulated attention that is not fused is GEMMs and a softmax, all of the layer's name. What is
// no class is left to the name.
TEST(KernelClassTest, AStatedClassDecidesBeforeTheName) {
  Trace trace;
  for (const char* const arguments :
       {R"("alone_us": 1.000, "kernel_class": "gemm")", R"("kernel_class": "moe routing")",
        R"("kernel_class": "fast")", R"("kernel_class": "gem)", ""}) {
    trace.activities.Append(
        {.name = trace.strings.Intern("attention"), .extra = trace.strings.Intern(arguments)});
  }
  EXPECT_EQ(ClassifyActivities(trace),
            (std::vector{kGemm, kMoeRouting, kAttention, kAttention, kAttention}));
}

TEST(KernelClassTest, TheOperatorRefinesVagueNames) {
  Trace trace;
  const StringId name = trace.strings.Intern("void at::native::vectorized_elementwise_kernel<4>");
  trace.host_ops.Append({.name = trace.strings.Intern("Optimizer.step#AdamW.step")});
  trace.activities.Append({.duration_ns = 1, .name = name, .host_op = 0});
  trace.activities.Append({.duration_ns = 1, .name = name});
  trace.activities.Append({.duration_ns = 1, .name = name, .kind = ActivityKind::kMemcpy});
  EXPECT_EQ(ClassifyActivities(trace),
            (std::vector<KernelClass>{kOptimizer, kElementwise, kMemory}));
}

}  // namespace
}  // namespace orrery::trace
