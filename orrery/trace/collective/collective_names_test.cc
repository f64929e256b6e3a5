#include "orrery/trace/collective/collective_names.h"

#include <optional>

#include <gtest/gtest.h>

#include "orrery/base/collective_kind.h"
#include "orrery/base/data_type.h"

namespace orrery::trace {
namespace {

using enum CollectiveKind;

TEST(CollectiveNamesTest, FrameworkSpellingsOfOneCollectiveAgree) {
  for (const char* name : {"allreduce", "all_reduce", "allreduce_coalesced", "c10d::allreduce_",
                           "_c10d_functional::all_reduce", "nccl:all_reduce", "ncclAllReduce"}) {
    EXPECT_EQ(ParseCollectiveName(name), kAllReduce) << name;
  }
  EXPECT_EQ(ParseCollectiveName("_allgather_base"), kAllGather);
  EXPECT_EQ(ParseCollectiveName("all_gather_into_tensor_coalesced"), kAllGather);
  EXPECT_EQ(ParseCollectiveName("reduce_scatter_tensor_coalesced"), kReduceScatter);
  EXPECT_EQ(ParseCollectiveName("_reduce_oop"), kReduce);
  EXPECT_EQ(ParseCollectiveName("all_to_allv"), kAllToAll);
}

TEST(CollectiveNamesTest, WaitIsNotACollective) {
  EXPECT_EQ(ParseCollectiveName("wait"), std::nullopt);
  EXPECT_EQ(ParseCollectiveName("_c10d_functional::wait_tensor"), std::nullopt);
}

TEST(CollectiveNamesTest, NcclKernelsOfBothAgesAreRead) {
  const auto old_name = ClassifyCommunicationKernel(
      "ncclKernel_AllReduce_RING_LL_Sum_half(ncclDevComm*, unsigned long, ncclWork*)");
  ASSERT_TRUE(old_name);
  EXPECT_EQ(old_name->kind, kAllReduce);
  EXPECT_EQ(old_name->data_type, DataType::kFp16);

  const auto new_name = ClassifyCommunicationKernel(
      "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)");
  ASSERT_TRUE(new_name);
  EXPECT_EQ(new_name->kind, kReduceScatter);
  EXPECT_EQ(new_name->data_type, DataType::kBf16);
}

TEST(CollectiveNamesTest, RawBytesOfACopyAreNotItsType) {
  const auto kernel =
      ClassifyCommunicationKernel("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)");
  ASSERT_TRUE(kernel);
  EXPECT_EQ(kernel->kind, kSendRecv);
  EXPECT_EQ(kernel->data_type, DataType::kUnknown);
}

TEST(CollectiveNamesTest, AnElementwiseKernelWithBroadcastInItsNameIsNotCommunication) {
  EXPECT_FALSE(ClassifyCommunicationKernel("void at::native::BroadcastFunctor<float>(int)"));
  EXPECT_FALSE(ClassifyCommunicationKernel("void at::native::reduce_kernel<512, 1>(...)"));
}

TEST(DataTypesTest, AnUnknownTypeMakesTheSizeUnknown) {
  EXPECT_EQ(SizeInBytes(10, ParseDataType("BFloat16")), 20);
  EXPECT_EQ(SizeInBytes(10, ParseDataType("long int")), 80);
  EXPECT_EQ(SizeInBytes(10, ParseDataType("TensorList")), -1);
}

}  // namespace
}  // namespace orrery::trace
