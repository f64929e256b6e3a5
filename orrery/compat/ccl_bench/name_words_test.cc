#include "orrery/compat/ccl_bench/name_words.h"

#include <gtest/gtest.h>

namespace orrery::compat::ccl_bench {
namespace {

TEST(NameWordsTest, ToolsDisagreeOnWhatCommunicates) {
  EXPECT_TRUE(kFractionComm("all2all_send_kernel"));
  EXPECT_FALSE(kTimeComm("all2all_send_kernel"));
  EXPECT_TRUE(kTimeComm("vllm::cross_device_reduce_1stage"));
  EXPECT_FALSE(kTimeComm("my_nccl_wrapper"));
  EXPECT_TRUE(kFractionComm("my_nccl_wrapper"));
  EXPECT_TRUE(kOverlapComm("broadcast_kernel"));
  EXPECT_FALSE(kXlaOverlapComm("broadcast.12"));
  EXPECT_TRUE(kXlaOverlapComm("all-to-all.3"));
}

TEST(NameWordsTest, NcclBefore219IsNotRecognized) {
  EXPECT_TRUE(IsNewNcclCollective("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*)"));
  EXPECT_FALSE(IsNewNcclCollective("ncclKernel_AllReduce_RING_LL_Sum_float(ncclDevComm*)"));
  EXPECT_FALSE(IsNewNcclCollective("nccldevkernel_AllReduce"));
  EXPECT_TRUE(kNewNcclKernel("nccldevkernel_AllReduce"));
}

TEST(NameWordsTest, TheFirstMatchingMemoryClassCounts) {
  EXPECT_EQ(MemoryClassOf("ncclDevKernel_Broadcast"), MemoryClass::kCommunication);
  EXPECT_EQ(MemoryClassOf("direct_copy_kernel_cuda"), MemoryClass::kCopy);
  EXPECT_EQ(MemoryClassOf("fused dma transfer"), MemoryClass::kCopy);
  EXPECT_EQ(MemoryClassOf("admax"), MemoryClass::kOther);
  EXPECT_EQ(MemoryClassOf("ampere_fp16_gemm"), MemoryClass::kGemm);
  EXPECT_EQ(MemoryClassOf("softmax_warp_forward"), MemoryClass::kSoftmax);
  EXPECT_EQ(MemoryClassOf("vectorized_layer_norm_kernel"), MemoryClass::kNormalisation);
  EXPECT_EQ(MemoryClassOf("vectorized_elementwise_kernel"), MemoryClass::kElementwise);
  EXPECT_EQ(MemoryClassOf("reduce_kernel<512>"), MemoryClass::kReduction);
}

TEST(NameWordsTest, ADispatchInACubKernelCountsAsExpertsUnlessNsysRecorded) {
  EXPECT_TRUE(kMoe("cub::DeviceDispatch"));
  EXPECT_FALSE(kNsysMoe("cub::DeviceDispatch"));
  EXPECT_TRUE(kNsysMoe("topk(float*)"));
  EXPECT_FALSE(kNsysMoe("radix_topk_kernel"));
}

}  // namespace
}  // namespace orrery::compat::ccl_bench
