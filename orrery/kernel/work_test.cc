#include "orrery/kernel/work.h"

#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/base/error.h"
#include "orrery/kernel/any_operator_test.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

Work WorkOfText(std::string_view text) {
  const Result<Operator> op = ParseOperator(text);
  EXPECT_TRUE(op.has_value()) << text;
  return WorkOf(*op);
}

void ExpectWork(std::string_view text, double flops, double read_bytes, double write_bytes) {
  const Work work = WorkOfText(text);
  EXPECT_DOUBLE_EQ(work.flops, flops) << text;
  EXPECT_DOUBLE_EQ(work.read_bytes, read_bytes) << text;
  EXPECT_DOUBLE_EQ(work.write_bytes, write_bytes) << text;
}

TEST(Work, AGemmReadsBothOperandsAndWritesItsResult) {
  // 2·2·3·4 = 48 FLOPs; A has 8 elements, B 12, the result 6.
  ExpectWork("gemm m=2 n=3 k=4 bf16", 48, 40, 12);
  ExpectWork("gemm m=2 n=3 k=4 fp32", 48, 80, 24);
  ExpectWork("bgemm b=5 m=2 n=3 k=4 bf16", 240, 200, 60);
}

TEST(Work, AGemmOfNarrowTypesWritesTwoBytes) {
  ExpectWork("gemm m=2 n=3 k=4 fp8", 48, 20, 12);
  ExpectWork("gemm m=2 n=3 k=4 nvfp4", 48, 10, 12);
}

TEST(Work, ARecurrentLayerReadsItsWeightsOnce) {
  // LSTM, two layers both ways: inputs 3 and 2·5, so 2·4·5·(13 + 10) = 920 weights; 2·7 = 14 rows.
  // 2·14·920 FLOPs; reads 920 + 14·13 elements, writes 14 rows of 2·2·5.
  ExpectWork("rnn layers=2 b=2 s=7 input=3 hidden=5 bi=1 bf16", 25760, 2204, 560);
  // The gradients: twice the products; reads also results and their gradients.
  ExpectWork("rnn layers=2 b=2 s=7 input=3 hidden=5 bi=1 pass=bwd bf16", 51520, 3324, 2204);
}

TEST(Work, ALossWritesOnlyWhatIsNotReduced) {
  ExpectWork("loss n=10 fp32", 40, 80, 0);
  ExpectWork("loss n=10 reduction=none fp32", 40, 80, 40);
  ExpectWork("loss n=10 pass=bwd fp32", 40, 80, 40);
  ExpectWork("groupnorm b=2 c=4 hw=5 groups=2 bf16", 320, 80, 80);
  ExpectWork("triton rows=2 cols=5 bytes=77 tensors=3 bf16", 10, 77, 0);
}

TEST(Work, GroupsWithoutTokensReadNoWeights) {
  // Two tokens reach at most two of the four groups: A has 10 elements, two weights 2·15.
  ExpectWork("groupedgemm g=4 m=2 n=3 k=5 bf16", 60, 80, 12);
}

TEST(Work, AttentionCountsThePairsThatItsMaskLeaves) {
  // 2 heads · 4 queries · 4 keys · size 8: two GEMMs of 2·256 FLOPs. Queries have 64 elements,
  // keys and values 32 each (one shared head); 4 bytes of statistics for each of 8 query rows.
  ExpectWork("attention b=1 h=2 kv=1 sq=4 sk=4 d=8 bf16", 1024, 2 * (64 + 64), 2 * 64 + 32);
  // Causal: 1 + 2 + 3 + 4 = 10 of 16 pairs.
  EXPECT_DOUBLE_EQ(WorkOfText("attention b=1 h=2 kv=1 sq=4 sk=4 d=8 causal=1 bf16").flops, 640);
  // Four queries on two keys, aligned at the end: 0 + 0 + 1 + 2 = 3 of 8 pairs of 512 FLOPs.
  EXPECT_DOUBLE_EQ(WorkOfText("attention b=1 h=2 kv=1 sq=4 sk=2 d=8 causal=1 bf16").flops, 192);
  // A window of one key of four leaves a quarter.
  EXPECT_DOUBLE_EQ(WorkOfText("attention b=1 h=2 kv=1 sq=4 sk=4 d=8 causal=1 window=1 bf16").flops,
                   256);
  // Backward: five GEMMs instead of two.
  EXPECT_DOUBLE_EQ(WorkOfText("attention b=1 h=2 kv=1 sq=4 sk=4 d=8 pass=bwd bf16").flops, 2560);
}

TEST(Work, AConvolutionAndItsGradientsReadTwoTensorsAndWriteTheThird) {
  // Output 4 × 4: 2·16·3·2·9 = 1728 FLOPs. Input 32 elements, weight 54, output 48.
  const std::string conv = "conv b=1 c=2 oc=3 h=4 w=4 kh=3 kw=3 pad=1 ";
  ExpectWork(conv + "fp32", 1728, 4 * (32 + 54), 4 * 48);
  ExpectWork(conv + "pass=dgrad fp32", 1728, 4 * (48 + 54), 4 * 32);
  ExpectWork(conv + "pass=wgrad fp32", 1728, 4 * (32 + 48), 4 * 54);
  ExpectWork(conv + "pass=bwd fp32", 2 * 1728, 4 * (2 * 48 + 32 + 54), 4 * (32 + 54));
}

TEST(Work, AConvolutionKnowsStrideDilationAndGroups) {
  // (4 - 3) / 2 + 1 = 1 output pixel: 2·3·2·9.
  EXPECT_DOUBLE_EQ(WorkOfText("conv b=1 c=2 oc=3 h=4 w=4 kh=3 kw=3 stride=2 fp32").flops, 108);
  // A kernel of 3 that is dilated by 2 reaches over 5: 2 × 2 output pixels of 6 × 6.
  EXPECT_DOUBLE_EQ(WorkOfText("conv b=1 c=2 oc=3 h=6 w=6 kh=3 kw=3 dilation=2 fp32").flops, 432);
  // Depthwise: each of 4 channels sees itself alone: 2·16·4·1·9, weight 4·9.
  ExpectWork("conv b=1 c=4 oc=4 h=4 w=4 kh=3 kw=3 pad=1 groups=4 fp32", 1152, 4 * (64 + 36),
             4 * 64);
  // (8 - 3) + 1 = 6 places: 2·6·3·2·3.
  EXPECT_DOUBLE_EQ(WorkOfText("conv1d b=1 c=2 oc=3 w=8 kw=3 fp32").flops, 216);
}

TEST(Work, LookupsReadEachTouchedRowOnce) {
  // Two draws from two rows touch 2·(1 - 1/4) = 1.5 rows of 16 bytes; 8 bytes an index.
  ExpectWork("embedding rows=2 dim=4 lookups=2 fp32", 0, 1.5 * 16 + 16, 32);
  // The gradient is cleared (2 rows) and its touched rows are written.
  ExpectWork("embedding rows=2 dim=4 lookups=2 pass=bwd fp32", 8, 32 + 16, 32 + 1.5 * 16);
  // A bag of two is added up: 2·4 additions, one result.
  ExpectWork("embeddingbag rows=2 dim=4 bags=1 pool=2 fp32", 8, 1.5 * 16 + 16, 16);
}

TEST(Work, StreamsReadAndWriteWhatTheirDefinitionSays) {
  ExpectWork("elementwise fn=add n=10 rb=4 wb=2 bf16", 10, 40, 20);
  ExpectWork("copy n=10 to=fp32 bf16", 0, 20, 40);
  ExpectWork("copy n=10 bf16", 0, 20, 20);
  ExpectWork("fill n=10 fp32", 0, 0, 40);
  ExpectWork("reduce outer=2 r=3 inner=4 fp32", 24, 96, 32);
  ExpectWork("transpose b=2 m=3 n=4 bf16", 0, 48, 48);
  ExpectWork("dropout n=10 bf16", 20, 20, 30);
  ExpectWork("memcpy bytes=100 dir=h2d int8", 0, 100, 100);
  ExpectWork("layernorm rows=2 cols=5 fp32", 80, 40, 40);
  ExpectWork("rmsnorm rows=2 cols=5 pass=bwd fp32", 100, 80, 40);
}

TEST(Work, AnOptimizerReadsAllAndWritesAllButTheGradient) {
  // Parameter, gradient, two moments: 16 bytes read, 12 written.
  ExpectWork("optimizer n=10 tensors=1 fp32", 120, 160, 120);
  // Parameter and gradient in two bytes, moments and master in four.
  ExpectWork("optimizer n=10 tensors=1 master=1 bf16", 120, 160, 140);
  ExpectWork("optimizer fn=sgd n=10 tensors=1 fp32", 40, 80, 40);
}

TEST(Gemm, AConvolutionIsTheImplicitGemm) {
  const GemmShape forward =
      GemmOf(*ParseOperator("conv b=2 c=8 oc=16 h=4 w=4 kh=3 kw=3 pad=1 groups=2 fp32"));
  EXPECT_EQ(forward.batch, 2);
  EXPECT_EQ(forward.m, 32);  // pixels of both images
  EXPECT_EQ(forward.n, 8);   // output channels of a group
  EXPECT_EQ(forward.k, 36);  // 4 channels · 9 taps
  const GemmShape weights =
      GemmOf(*ParseOperator("conv b=2 c=8 oc=16 h=4 w=4 kh=3 kw=3 pad=1 groups=2 pass=wgrad fp32"));
  EXPECT_EQ(weights.m, 8);
  EXPECT_EQ(weights.n, 36);
  EXPECT_EQ(weights.k, 32);
}

bool IsCount(double value) {
  return std::isfinite(value) && value >= 0;
}

TEST(Work, IsFiniteWhereEveryParameterIsTheLeastThatCanBeWritten) {
  for (std::size_t i = 0; i < kNumOperatorKinds; ++i) {
    Operator op(static_cast<OperatorKind>(i), DataType::kBf16);
    for (const Field& field : SchemaOf(op.kind()).fields) {
      op.Set(field.key, field.type == FieldType::kSize ? 1 : 0);
    }
    const Work work = WorkOf(op);
    EXPECT_TRUE(IsCount(work.flops)) << Text(op);
    EXPECT_TRUE(IsCount(work.Bytes())) << Text(op);
  }
}

RC_GTEST_PROP(Work, IsNeverNegativeNorWithoutEnd, ()) {
  const Operator op = AnyOperator();
  const Work work = WorkOf(op);
  RC_ASSERT(IsCount(work.flops));
  RC_ASSERT(IsCount(work.read_bytes));
  RC_ASSERT(IsCount(work.write_bytes));
}

/// A window that grows beyond its picture has fewer places.
bool IsWindow(Key key) {
  return key == Key::kKernelHeight || key == Key::kKernelWidth;
}

RC_GTEST_PROP(Work, DoublingASizeNeverMakesItLess, ()) {
  const Operator op = AnyOperator();
  const Work work = WorkOf(op);
  for (const Field& field : SchemaOf(op.kind()).fields) {
    if (field.type != FieldType::kSize || IsWindow(field.key)) {
      continue;
    }
    Operator twice = op;
    twice.Set(field.key, 2 * op.Get(field.key));
    const Work more = WorkOf(twice);
    RC_ASSERT(more.flops >= work.flops * (1 - 1e-9));
    RC_ASSERT(more.Bytes() >= work.Bytes() * (1 - 1e-9));
  }
}

}  // namespace
}  // namespace orrery::kernel
