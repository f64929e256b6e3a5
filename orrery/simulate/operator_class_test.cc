#include "orrery/simulate/operator_class.h"

#include <cstddef>
#include <set>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/kernel/operator.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::simulate {
namespace {

using kernel::OperatorKind;
using trace::KernelClass;

// As ClassifyKernel has them of the kernels that PyTorch launches: nvjet_*, flash_fwd_kernel,
// vectorized_layer_norm_kernel, nll_loss_forward, direct_copy_kernel, multi_tensor_apply_kernel,
// DeviceScan, moe_permute.
TEST(OperatorClassTest, OperatorsHaveTheClassOfTheirKernels) {
  EXPECT_EQ(ClassOf(OperatorKind::kBatchedGemm), KernelClass::kGemm);
  EXPECT_EQ(ClassOf(OperatorKind::kGroupedGemm), KernelClass::kMoeExpert);
  EXPECT_EQ(ClassOf(OperatorKind::kAttention), KernelClass::kAttention);
  EXPECT_EQ(ClassOf(OperatorKind::kConv1d), KernelClass::kConvolution);
  EXPECT_EQ(ClassOf(OperatorKind::kRmsNorm), KernelClass::kNormalisation);
  EXPECT_EQ(ClassOf(OperatorKind::kGroupNorm), KernelClass::kNormalisation);
  EXPECT_EQ(ClassOf(OperatorKind::kCrossEntropy), KernelClass::kSoftmax);
  EXPECT_EQ(ClassOf(OperatorKind::kRope), KernelClass::kElementwise);
  EXPECT_EQ(ClassOf(OperatorKind::kReduce), KernelClass::kReduction);
  EXPECT_EQ(ClassOf(OperatorKind::kCopy), KernelClass::kCopyLike);
  EXPECT_EQ(ClassOf(OperatorKind::kEmbeddingBag), KernelClass::kEmbedding);
  EXPECT_EQ(ClassOf(OperatorKind::kForeach), KernelClass::kOptimizer);
  EXPECT_EQ(ClassOf(OperatorKind::kCumsum), KernelClass::kReduction);
  EXPECT_EQ(ClassOf(OperatorKind::kMoePermute), KernelClass::kMoeRouting);
}

// Of these, kernels' names do not say what they do either.
TEST(OperatorClassTest, FewOperatorsAreOther) {
  std::set<std::string_view> others;
  for (std::size_t kind = 0; kind < kernel::kNumOperatorKinds; ++kind) {
    if (ClassOf(static_cast<OperatorKind>(kind)) == KernelClass::kOther) {
      others.insert(SchemaOf(static_cast<OperatorKind>(kind)).name);
    }
  }
  EXPECT_EQ(others, (std::set<std::string_view>{"arange", "avgpool", "loss", "maxpool", "rnn",
                                                "sort", "tril", "triton", "upsample"}));
}

}  // namespace
}  // namespace orrery::simulate
