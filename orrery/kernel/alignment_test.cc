#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/hardware/gpu.h"
#include "orrery/kernel/any_operator_test.h"
#include "orrery/kernel/data_type.h"
#include "orrery/kernel/efficiency.h"
#include "orrery/kernel/estimate.h"
#include "orrery/kernel/features.h"
#include "orrery/kernel/model_set.h"
#include "orrery/kernel/operator.h"
#include "orrery/learn/forest.h"

namespace orrery::kernel {
namespace {

constexpr LaunchFloor kFloor{.seconds = 2e-6, .sharpness = 1};

const hardware::Gpu& Named(std::string_view name) {
  return *hardware::FindGpu(name);
}

Operator Parsed(std::string_view text) {
  const Result<Operator> op = ParseOperator(text);
  EXPECT_TRUE(op.has_value()) << text;
  return *op;
}

learn::Forest ForestOf(const learn::Tree& tree) {
  return *learn::Forest::FromTrees(0, FeatureNames(OperatorKind::kGemm).size(), {&tree, 1});
}

/// Every GEMM takes so many times its base.
learn::Forest BlindForest(double times) {
  return ForestOf({{.value = std::log(times)}});
}

/// Products whose n is divided by less than 8 take `unaligned` times their base, others `aligned`.
learn::Forest KnowingForest(double unaligned, double aligned) {
  const std::vector<std::string> names = FeatureNames(OperatorKind::kGemm);
  const auto feature = std::ranges::find(names, "alignment n") - names.begin();
  return ForestOf(
      {{.left = 1, .right = 2, .feature = static_cast<std::uint32_t>(feature), .threshold = 2.5F},
       {.value = std::log(unaligned)},
       {.value = std::log(aligned)}});
}

/// It has seen the layouts of a range; alone: A and B stored as written.
EfficiencyModel ModelOf(std::string_view gpu, learn::Forest forest,
                        EfficiencyModel::Range layouts = {0, 0}) {
  EfficiencyModel::Domain domain;
  domain.gpu = gpu;
  domain.types.set(OperatorTypeNumber(DataType::kBf16));
  domain.range_of_field.fill({1, 1 << 20});
  domain.range_of_field[*SchemaOf(OperatorKind::kGemm).IndexOf(Key::kLayout)] = layouts;
  domain.range_of_field[*SchemaOf(OperatorKind::kGemm).IndexOf(Key::kBias)] = {0, 0};
  return {std::move(domain), kFloor, 0.1, std::move(forest)};
}

/// Times of 1.5 bases on a GPU that was taught aligned GEMMs alone, beside another GPU on which
/// unaligned ones take 6 bases and aligned ones 1.2.
ModelSet BlindBeside(std::string_view gpu, std::string_view other) {
  ModelSet models;
  models.Add(ModelOf(gpu, BlindForest(1.5)));
  models.Add(ModelOf(other, KnowingForest(6, 1.2)));
  return models;
}

/// Returns the time of a GEMM as a multiple of its base (launch and roofline).
double BasesOf(const Estimate& estimate) {
  return estimate.seconds / kFloor.Join(estimate.roofline_seconds);
}

// 16 bytes are 8 elements of bf16 and 4 of fp32; a batch is no row.
TEST(Alignment, FindsSizesThatSixteenBytesDoNotDivide) {
  EXPECT_EQ(UnalignedSizes(Parsed("gemm m=4096 n=50257 k=768 bf16")), GemmSizes("010"));
  EXPECT_EQ(UnalignedSizes(Parsed("gemm m=4 n=12 k=6 bf16")), GemmSizes("111"));
  EXPECT_EQ(UnalignedSizes(Parsed("gemm m=4 n=12 k=6 fp32")), GemmSizes("100"));
  EXPECT_EQ(UnalignedSizes(Parsed("bgemm b=3 m=8 n=8 k=8 bf16")), GemmSizes());
  EXPECT_EQ(UnalignedSizes(Parsed("softmax rows=3 cols=5 bf16")), GemmSizes());
}

TEST(Alignment, RaisesTheSizesThatItIsTold) {
  EXPECT_EQ(Aligned(Parsed("gemm m=4095 n=50257 k=768 bf16"), GemmSizes("010")),
            Parsed("gemm m=4095 n=50264 k=768 bf16"));
}

RC_GTEST_PROP(Alignment, AnAlignedGemmHasNoUnalignedSizeAndIsNotSmaller, ()) {
  const Operator op = AnyOperatorOf(OperatorKind::kGemm);
  const Operator aligned = Aligned(op, UnalignedSizes(op));
  RC_ASSERT(UnalignedSizes(aligned).none());
  for (const Key size : kGemmSizes) {
    RC_ASSERT(aligned.Get(size) >= op.Get(size));
  }
}

// A split at 2^2.5 tells 1, 2 and 4 from the 8 elements that bf16 asks for, and nothing from the 4
// that fp32 asks for.
TEST(Alignment, AForestSeesWhatItsTreesSplitBy) {
  const AlignmentKnowledge knowing(OperatorKind::kGemm, KnowingForest(6, 1.2));
  EXPECT_EQ(knowing.IndistinctSizes(DataType::kBf16), GemmSizes("101"));
  EXPECT_EQ(knowing.IndistinctSizes(DataType::kFp32), GemmSizes("111"));
  const AlignmentKnowledge blind(OperatorKind::kGemm, BlindForest(1.5));
  EXPECT_EQ(blind.IndistinctSizes(DataType::kBf16), GemmSizes("111"));
}

// 1.5 · 6 / 1.2 = 7.5 bases.
TEST(Alignment, ABlindModelBorrowsTheLossOfItsGeneration) {
  const ModelSet models = BlindBeside("H100", "H200");
  const Operator op = Parsed("gemm m=4096 n=50257 k=768 bf16");
  const Estimate estimate = models.Predict(op, Named("H100"));
  EXPECT_NEAR(BasesOf(estimate), 7.5, 1e-6);
  EXPECT_EQ(estimate.source, EstimateSource::kThisGpu);
  EXPECT_TRUE(estimate.is_extrapolated);
  EXPECT_EQ(estimate.alignment_gpu, &Named("H200"));
  EXPECT_NEAR(estimate.uncertainty, std::hypot(0.1, 0.1), 1e-12);
}

TEST(Alignment, AnAlignedGemmBorrowsNothing) {
  const ModelSet models = BlindBeside("H100", "H200");
  const Estimate estimate = models.Predict(Parsed("gemm m=4096 n=50264 k=768 bf16"), Named("H100"));
  EXPECT_NEAR(BasesOf(estimate), 1.5, 1e-6);
  EXPECT_FALSE(estimate.is_extrapolated);
  EXPECT_EQ(estimate.alignment_gpu, nullptr);
}

// Both know that n counts, and each says what it saw: 3 bases on H100, 6 on H200.
TEST(Alignment, AModelThatKnowsIsLeftAlone) {
  ModelSet models;
  models.Add(ModelOf("H100", KnowingForest(3, 1.5)));
  models.Add(ModelOf("H200", KnowingForest(6, 1.2)));
  const Operator op = Parsed("gemm m=4096 n=50257 k=768 bf16");
  for (const auto& [gpu, bases] : {std::pair{"H100", 3.0}, std::pair{"H200", 6.0}}) {
    const Estimate estimate = models.Predict(op, Named(gpu));
    EXPECT_NEAR(BasesOf(estimate), bases, 1e-6) << gpu;
    EXPECT_EQ(estimate.alignment_gpu, nullptr) << gpu;
  }
}

// The model's knowledge of n holds for the layout it was trained on. In another layout it predicts
// the aligned GEMM, 1.5 bases, so that nothing is counted twice: 1.5 · 6 / 1.2.
TEST(Alignment, AModelIsBlindInALayoutThatItHasNotSeen) {
  ModelSet models;
  models.Add(ModelOf("H100", KnowingForest(3, 1.5), {0, 0}));
  models.Add(ModelOf("H200", KnowingForest(6, 1.2), {0, 3}));
  const Operator op = Parsed("gemm m=4096 n=50257 k=768 layout=tn bf16");
  const Estimate estimate = models.Predict(op, Named("H100"));
  EXPECT_NEAR(BasesOf(estimate), 7.5, 1e-6);
  EXPECT_EQ(estimate.alignment_gpu, &Named("H200"));
}

TEST(Alignment, AnotherGenerationAndAnotherTypeTeachNothing) {
  const Operator op = Parsed("gemm m=4096 n=50257 k=768 bf16");
  const Estimate old = BlindBeside("H100", "A100-80GB").Predict(op, Named("H100"));
  EXPECT_NEAR(BasesOf(old), 1.5, 1e-6);
  EXPECT_EQ(old.alignment_gpu, nullptr);
  const Operator half = Parsed("gemm m=4096 n=50257 k=768 fp16");
  const Estimate other_type = BlindBeside("H100", "H200").Predict(half, Named("H100"));
  EXPECT_NEAR(BasesOf(other_type), 1.5, 1e-6);
  EXPECT_EQ(other_type.alignment_gpu, nullptr);
}

}  // namespace
}  // namespace orrery::kernel
