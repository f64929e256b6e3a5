#include "orrery/kernel/aten/aten.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/base/data_type.h"
#include "orrery/kernel/operator.h"

namespace orrery::kernel {
namespace {

using testing::ElementsAre;
using testing::IsEmpty;
using Integers = std::vector<std::int64_t>;

AtenTensor Bf16(Integers dims, Integers strides = {}) {
  return {.dims = std::move(dims), .strides = std::move(strides), .type = DataType::kBf16};
}

AtenTensor Fp32(Integers dims, Integers strides = {}) {
  return {.dims = std::move(dims), .strides = std::move(strides), .type = DataType::kFp32};
}

AtenTensor Int64(Integers dims, Integers strides = {}) {
  return {.dims = std::move(dims), .strides = std::move(strides), .type = DataType::kInt64};
}

AtenTensor OnHost(AtenTensor tensor) {
  tensor.on_gpu = false;
  return tensor;
}

AtenValue Number(std::int64_t value) {
  return value;
}

constexpr std::monostate kNone;

std::vector<std::string> Texts(const AtenCall& call) {
  std::vector<std::string> texts;
  for (const Operator& op : OperatorsOf(call).operators) {
    texts.push_back(Text(op));
  }
  return texts;
}

// The three GEMMs of a linear layer: the weight is n × k, so the forward pass sees it turned;
// for the gradient of the weight the gradient of the result is turned.
TEST(AtenGemms, LayoutComesFromStrides) {
  EXPECT_THAT(Texts({"aten::mm", {Bf16({8, 4}), Bf16({4, 6}, {1, 4})}}),
              ElementsAre("gemm m=8 n=6 k=4 layout=nt bf16"));
  EXPECT_THAT(Texts({"aten::mm", {Bf16({8, 6}), Bf16({6, 4})}}),
              ElementsAre("gemm m=8 n=4 k=6 bf16"));
  EXPECT_THAT(Texts({"aten::mm", {Bf16({6, 8}, {1, 6}), Bf16({8, 4})}}),
              ElementsAre("gemm m=6 n=4 k=8 layout=tn bf16"));
}

TEST(AtenGemms, AVectorAddedIsABiasAndAMatrixIsNot) {
  EXPECT_THAT(Texts({"aten::addmm", {Fp32({6}), Fp32({8, 4}), Fp32({4, 6})}}),
              ElementsAre("gemm m=8 n=6 k=4 bias=1 fp32"));
  EXPECT_THAT(Texts({"aten::addmm", {Fp32({8, 6}), Fp32({8, 4}), Fp32({4, 6})}}),
              ElementsAre("gemm m=8 n=6 k=4 fp32"));
}

// A matrix of one row can be read either way; it counts as stored as written.
TEST(AtenGemms, VectorsAreNotTransposed) {
  EXPECT_THAT(Texts({"aten::bmm", {Fp32({1, 32, 1}, {32, 1, 32}), Fp32({1, 1, 8})}}),
              ElementsAre("bgemm b=1 m=32 n=8 k=1 fp32"));
}

TEST(AtenGemms, Fp32IsExactUnlessTheFrameworkAllowsTf32) {
  EXPECT_THAT(Texts({.name = "aten::mm",
                     .inputs = {Fp32({8, 4}), Fp32({4, 6})},
                     .products_allow_tf32 = true}),
              ElementsAre("gemm m=8 n=6 k=4 tf32"));
}

TEST(AtenGemms, SizesThatDoNotFitAreEstimatedFromTheirBytes) {
  const AtenOperators answer = OperatorsOf({"aten::mm", {Bf16({8, 4}), Bf16({5, 6})}});
  EXPECT_EQ(answer.meaning, AtenMeaning::kMeasured);
}

// As recorded from Llama: 32 heads share 8 of keys; the query lies as batch × length × heads.
TEST(AtenAttention, ArgumentsAreFoundWhereTheLibraryHasThem) {
  const AtenTensor query = Bf16({4, 32, 2048, 64}, {4194304, 64, 2048, 1});
  const AtenTensor key = Bf16({4, 8, 2048, 64});
  EXPECT_THAT(Texts({"aten::_cudnn_attention_forward",
                     {query, key, key, kNone, kNone, kNone, Number(2048), Number(2048), Number(1),
                      0.1, Number(1), Number(0), 0.125}}),
              ElementsAre("attention b=4 h=32 kv=8 sq=2048 sk=2048 d=64 causal=1 dropout=1 "
                          "backend=cudnn bf16"));
  EXPECT_THAT(Texts({"aten::_cudnn_attention_backward",
                     {query, query, key, key, query, kNone, kNone, kNone, kNone, kNone, kNone,
                      Number(2048), Number(2048), 0.0, Number(0), 0.125}}),
              ElementsAre("attention b=4 h=32 kv=8 sq=2048 sk=2048 d=64 backend=cudnn pass=bwd "
                          "bf16"));
}

// 3 sequences, which begin at 0, … and end at 600: 200 tokens each in the mean.
TEST(AtenAttention, PackedSequencesAreABatchOfTheirMeanLength) {
  const AtenTensor rows = Bf16({600, 8, 64});
  const AtenTensor ends = {.dims = {4}, .type = DataType::kInt32};
  EXPECT_THAT(Texts({"aten::_flash_attention_forward",
                     {rows, rows, rows, ends, ends, Number(300), Number(300), 0.0, Number(0),
                      Number(0)}}),
              ElementsAre("attention b=3 h=8 kv=8 sq=200 sk=200 d=64 backend=flash bf16"));
}

TEST(AtenAttention, FlashHasTheLengthBeforeTheHeads) {
  const AtenTensor query = Bf16({2, 128, 12, 64});
  EXPECT_THAT(
      Texts({"aten::_flash_attention_forward",
             {query, query, query, kNone, kNone, Number(128), Number(128), 0.0, Number(1)}}),
      ElementsAre("attention b=2 h=12 kv=12 sq=128 sk=128 d=64 causal=1 backend=flash "
                  "bf16"));
}

const AtenTensor& ChannelsLastImages() {
  static const AtenTensor kImages = Bf16({64, 3, 224, 224}, {150528, 1, 672, 3});
  return kImages;
}

TEST(AtenConvolution, ChannelsLastComesFromStrides) {
  const AtenTensor weight = Bf16({64, 3, 7, 7}, {147, 1, 21, 3});
  EXPECT_THAT(Texts({"aten::cudnn_convolution",
                     {ChannelsLastImages(), weight, Integers{3, 3}, Integers{2, 2}, Integers{1, 1},
                      Number(1), Number(0), Number(0), Number(1)}}),
              ElementsAre("conv b=64 c=3 oc=64 h=224 w=224 kh=7 kw=7 stride=2 pad=3 nhwc=1 bf16"));
}

TEST(AtenConvolution, Fp32MayBeTf32) {
  const auto call = [](std::int64_t allow_tf32) {
    return AtenCall{"aten::cudnn_convolution",
                    {Fp32({2, 8, 9, 9}), Fp32({4, 8, 3, 3}), Integers{1, 1}, Integers{1, 1},
                     Integers{1, 1}, Number(1), Number(0), Number(0), Number(allow_tf32)}};
  };
  EXPECT_THAT(Texts(call(1)), ElementsAre("conv b=2 c=8 oc=4 h=9 w=9 kh=3 kw=3 pad=1 tf32"));
  EXPECT_THAT(Texts(call(0)), ElementsAre("conv b=2 c=8 oc=4 h=9 w=9 kh=3 kw=3 pad=1 fp32"));
}

AtenCall ConvolutionBackward(Integers mask) {
  return {"aten::convolution_backward",
          {Bf16({2, 4, 9, 9}), Bf16({2, 8, 9, 9}), Bf16({4, 8, 1, 1}), Integers{4}, Integers{1, 1},
           Integers{0, 0}, Integers{1, 1}, Number(0), Integers{0, 0}, Number(1), std::move(mask)}};
}

// The gradient of the bias sums 2 images of 9 × 9 for each of 4 channels, which lie apart.
TEST(AtenConvolution, TheMaskSaysWhichGradients) {
  EXPECT_THAT(Texts(ConvolutionBackward({1, 1, 0})),
              ElementsAre("conv b=2 c=8 oc=4 h=9 w=9 kh=1 kw=1 pass=bwd bf16"));
  EXPECT_THAT(Texts(ConvolutionBackward({1, 0, 0})),
              ElementsAre("conv b=2 c=8 oc=4 h=9 w=9 kh=1 kw=1 pass=dgrad bf16"));
  EXPECT_THAT(Texts(ConvolutionBackward({0, 1, 1})),
              ElementsAre("conv b=2 c=8 oc=4 h=9 w=9 kh=1 kw=1 pass=wgrad bf16",
                          "reduce outer=4 r=162 inner=1 bf16"));
}

// From 9 × 9 to (9 - 1) · 2 + 2 = 18 pixels a side: what leads back from 18 to 9, with 4 channels
// in and 8 out, is a convolution, and this its input gradient.
TEST(AtenConvolution, ATransposedOneIsAnInputGradient) {
  const AtenTensor input = Bf16({2, 8, 9, 9});
  const AtenTensor weight = Bf16({8, 4, 2, 2});
  EXPECT_THAT(Texts({"aten::cudnn_convolution_transpose",
                     {input, weight, Integers{0, 0}, Integers{0, 0}, Integers{2, 2}, Integers{1, 1},
                      Number(1)}}),
              ElementsAre("conv b=2 c=4 oc=8 h=18 w=18 kh=2 kw=2 stride=2 pass=dgrad bf16"));
  EXPECT_THAT(
      Texts({"aten::convolution_backward",
             {Bf16({2, 4, 18, 18}), input, weight, Integers{4}, Integers{2, 2}, Integers{0, 0},
              Integers{1, 1}, Number(1), Integers{0, 0}, Number(1), Integers{1, 1, 0}}}),
      ElementsAre("conv b=2 c=4 oc=8 h=18 w=18 kh=2 kw=2 stride=2 bf16",
                  "conv b=2 c=4 oc=8 h=18 w=18 kh=2 kw=2 stride=2 pass=wgrad bf16"));
}

// Windows one frame deep see images, 2 × 16 of them; those that are only deep see rows of 56 × 56
// pixels; others 3 frames of 8 channels at once, in each of 2 × 16 images.
TEST(AtenConvolution, VolumesAreImagesWithAsManyProducts) {
  const auto texts = [](Integers kernel, Integers pads) {
    kernel.insert(kernel.begin(), {4, 8});
    return Texts({"aten::cudnn_convolution",
                  {Bf16({2, 8, 16, 56, 56}), Bf16(std::move(kernel)), std::move(pads),
                   Integers{1, 1, 1}, Integers{1, 1, 1}, Number(1)}});
  };
  EXPECT_THAT(texts({1, 3, 3}, {0, 1, 1}),
              ElementsAre("conv b=32 c=8 oc=4 h=56 w=56 kh=3 kw=3 pad=1 bf16"));
  EXPECT_THAT(texts({3, 1, 1}, {1, 0, 0}),
              ElementsAre("conv b=2 c=8 oc=4 h=16 w=3136 kh=3 kw=1 pad=1 bf16"));
  EXPECT_THAT(texts({3, 3, 3}, {1, 1, 1}),
              ElementsAre("conv b=32 c=24 oc=4 h=56 w=56 kh=3 kw=3 pad=1 bf16"));
}

// 16 groups of 48 channels with windows of 128: kernels of each group, and a time that is that of the
// products, 2 × 8 × 500 × 768 × 48 × 128 = 38 GFLOP at 8 to 17 TFLOP/s as measured, not that of a
// peak. At 4.19 TB/s, in which the times of kernels are kept, that is 9 to 20 GB.
TEST(AtenConvolution, WideWindowsInGroupsAreSlow) {
  const AtenCall call{
      "aten::cudnn_convolution",
      {Fp32({8, 768, 1, 500}), Fp32({768, 48, 1, 128}), Integers{0, 64}, Integers{1, 1},
       Integers{1, 1}, Number(16)}};
  const std::vector<Operator> operators = OperatorsOf(call).operators;
  EXPECT_EQ(operators.size() % 16, 0U);
  double bytes = 0;
  for (const Operator& op : operators) {
    bytes += 8.0 * static_cast<double>(op.Get(Key::kN));
  }
  EXPECT_GT(bytes, 9e9);
  EXPECT_LT(bytes, 20e9);
}

TEST(AtenConvolution, ImagesOfHeightOneAreRows) {
  EXPECT_THAT(Texts({"aten::cudnn_convolution",
                     {Bf16({2, 8, 1, 100}), Bf16({4, 8, 1, 5}), Integers{0, 2}, Integers{1, 3},
                      Integers{1, 1}, Number(1)}}),
              ElementsAre("conv1d b=2 c=8 oc=4 w=100 kw=5 stride=3 pad=2 bf16"));
}

TEST(AtenNormalization, RowsAreWhatIsNotNormalized) {
  const AtenTensor input = Bf16({16, 512, 1024});
  EXPECT_THAT(Texts({"aten::native_layer_norm", {input, Integers{1024}}}),
              ElementsAre("layernorm rows=8192 cols=1024 bf16"));
  EXPECT_THAT(Texts({"aten::native_layer_norm_backward", {input, input, Integers{1024}}}),
              ElementsAre("layernorm rows=8192 cols=1024 pass=bwd bf16"));
}

TEST(AtenNormalization, BatchNormTrainsUnlessToldOtherwise) {
  const auto call = [](std::int64_t is_training) {
    return AtenCall{"aten::native_batch_norm",
                    {ChannelsLastImages(), kNone, kNone, kNone, kNone, Number(is_training)}};
  };
  EXPECT_THAT(Texts(call(1)), ElementsAre("batchnorm b=64 c=3 hw=50176 nhwc=1 bf16"));
  EXPECT_THAT(Texts(call(0)), ElementsAre("elementwise fn=other n=9633792 rb=2 mode=broadcast "
                                          "bf16"));
}

TEST(AtenLosses, RowsAndClasses) {
  const AtenTensor scores = Fp32({4096, 50257});
  EXPECT_THAT(Texts({"aten::_log_softmax", {scores, Number(1), Number(0)}}),
              ElementsAre("softmax rows=4096 cols=50257 log=1 fp32"));
  EXPECT_THAT(Texts({"aten::_log_softmax_backward_data", {scores, scores, Number(-1), Number(6)}}),
              ElementsAre("softmax rows=4096 cols=50257 log=1 pass=bwd fp32"));
  EXPECT_THAT(Texts({"aten::nll_loss_backward", {Fp32({}), scores, Int64({4096})}}),
              ElementsAre("nll rows=4096 cols=50257 pass=bwd fp32"));
}

TEST(AtenLookups, EmbeddingsAndBags) {
  EXPECT_THAT(Texts({"aten::embedding", {Bf16({50257, 768}), Int64({4, 1024})}}),
              ElementsAre("embedding rows=50257 dim=768 lookups=4096 bf16"));
  EXPECT_THAT(Texts({"aten::embedding_dense_backward",
                     {Bf16({4, 1024, 768}), Int64({4, 1024}), Number(50257)}}),
              ElementsAre("embedding rows=50257 dim=768 lookups=4096 pass=bwd bf16"));
  EXPECT_THAT(Texts({"aten::_embedding_bag", {Fp32({200000, 64}), Int64({20480}), Int64({2048})}}),
              ElementsAre("embeddingbag rows=200000 dim=64 bags=2048 pool=10 fp32"));
}

AtenTensor Hole() {
  return {.is_defined = false};
}

// 27 features have 27·26/2 = 351 pairs.
TEST(AtenLookups, PairsOfFeaturesAreATriangle) {
  const std::vector<AtenTensor> indices{Hole(), Int64({351}), Int64({351})};
  EXPECT_THAT(Texts({"aten::index", {Fp32({2048, 27, 27}), indices}}),
              ElementsAre("tril b=2048 m=27 n=27 diag=-1 fp32"));
  EXPECT_THAT(Texts({"aten::_index_put_impl_",
                     {Fp32({2048, 27, 27}), indices, Fp32({2048, 351}), Number(1), Number(1)}}),
              ElementsAre("tril b=2048 m=27 n=27 diag=-1 pass=bwd fp32"));
}

TEST(AtenLookups, RowsArePutOrAdded) {
  const AtenTensor table = Fp32({100, 8});
  const AtenTensor rows = Fp32({7, 8});
  EXPECT_THAT(Texts({"aten::_index_put_impl_",
                     {table, std::vector<AtenTensor>{Int64({7})}, rows, Number(1)}}),
              ElementsAre("index rows=100 dim=8 lookups=7 put=1 pass=bwd fp32"));
  EXPECT_THAT(Texts({"aten::index_add_", {table, Number(0), Int64({7}), rows}}),
              ElementsAre("index rows=100 dim=8 lookups=7 pass=bwd fp32"));
}

TEST(AtenLookups, OtherIndicesTakeRows) {
  EXPECT_THAT(Texts({"aten::index", {Fp32({100, 8}), std::vector<AtenTensor>{Int64({7})}}}),
              ElementsAre("index rows=100 dim=8 lookups=7 fp32"));
  EXPECT_THAT(
      Texts({"aten::gather", {Bf16({100, 8}), Number(0), Int64({7, 8}, {1, 0}), Number(0)}}),
      ElementsAre("index rows=100 dim=8 lookups=7 bf16"));
  EXPECT_THAT(Texts({"aten::gather", {Bf16({100, 8}), Number(1), Int64({100, 2}), Number(0)}}),
              ElementsAre("scatter n=800 lookups=200 bf16"));
}

AtenCall Binary(std::string_view name, AtenTensor lhs, AtenTensor rhs, AtenTensor result) {
  return {name, {std::move(lhs), std::move(rhs)}, {std::move(result)}};
}

TEST(AtenElementwise, FullOperandsAreRead) {
  EXPECT_THAT(Texts(Binary("aten::add_", Bf16({8, 4}), Bf16({8, 4}), Bf16({8, 4}))),
              ElementsAre("elementwise n=32 bf16"));
  EXPECT_THAT(Texts(Binary("aten::mul", Bf16({8, 4}), OnHost(Fp32({})), Bf16({8, 4}))),
              ElementsAre("elementwise fn=mul n=32 rb=2 bf16"));
  EXPECT_THAT(Texts(Binary("aten::mul", Fp32({8, 4}), Bf16({8, 4}), Fp32({8, 4}))),
              ElementsAre("elementwise fn=mul n=32 rb=6 wb=4 fp32"));
}

TEST(AtenElementwise, ATensorGivenTwiceIsReadOnce) {
  AtenTensor gradient = Bf16({8});
  gradient.storage = 1;
  AtenTensor square = Bf16({8});
  square.storage = 2;
  EXPECT_THAT(Texts({"aten::addcmul_", {square, gradient, gradient, 0.1}, {square}}),
              ElementsAre("elementwise fn=addcmul n=8 bf16"));
}

TEST(AtenElementwise, ARepeatedOperandIsABroadcast) {
  EXPECT_THAT(Texts(Binary("aten::mul", Bf16({8, 4}), Bf16({4}), Bf16({8, 4}))),
              ElementsAre("elementwise fn=mul n=32 rb=2 mode=broadcast bf16"));
  EXPECT_THAT(Texts(Binary("aten::mul_", Fp32({8}), Fp32({}), Fp32({8}))),
              ElementsAre("elementwise fn=mul n=8 wb=4 mode=broadcast fp32"))
      << "a number on the GPU must be read";
  EXPECT_THAT(Texts(Binary("aten::div", Fp32({8, 4}, {1, 0}), OnHost(Int64({})), Fp32({8, 4}))),
              ElementsAre("elementwise fn=div n=32 rb=0 wb=4 mode=broadcast fp32"));
}

TEST(AtenElementwise, AnotherOrderOfElementsIsStrided) {
  EXPECT_THAT(Texts(Binary("aten::add", Bf16({8, 4}, {1, 8}), Bf16({8, 4}), Bf16({8, 4}))),
              ElementsAre("elementwise n=32 mode=strided bf16"));
  EXPECT_THAT(Texts({"aten::neg", {Bf16({8, 4}, {16, 1})}, {Bf16({8, 4})}}),
              ElementsAre("elementwise fn=neg n=32 rb=2 mode=strided bf16"));
  EXPECT_THAT(
      Texts(Binary("aten::add", Bf16({8, 4}, {1, 8}), Bf16({8, 4}, {1, 8}), Bf16({8, 4}, {1, 8}))),
      ElementsAre("elementwise n=32 bf16"))
      << "the same order everywhere is as good as row major";
}

TEST(AtenElementwise, AComparisonComputesInTheTypeOfItsOperands) {
  const AtenTensor result{.dims = {8}, .type = DataType::kBool};
  EXPECT_THAT(Texts(Binary("aten::eq", Int64({8}), Int64({8}), result)),
              ElementsAre("elementwise fn=compare n=8 rb=16 wb=1 int64"));
}

TEST(AtenElementwise, ArgumentsChooseTheFunction) {
  EXPECT_THAT(Texts({"aten::gelu", {Bf16({8}), "tanh"}, {Bf16({8})}}),
              ElementsAre("elementwise fn=gelu_tanh n=8 rb=2 bf16"));
  EXPECT_THAT(Texts({"aten::gelu", {Bf16({8}), "none"}, {Bf16({8})}}),
              ElementsAre("elementwise fn=gelu n=8 rb=2 bf16"));
  EXPECT_THAT(Texts({"aten::pow", {Bf16({8}), Number(1)}, {Bf16({8})}}),
              ElementsAre("copy n=8 bf16"));
}

// With "out" the result is the last input, told by its storage.
TEST(AtenElementwise, AResultThatIsHandedInIsNotRead) {
  AtenTensor input = Fp32({8});
  input.storage = 1;
  AtenTensor result = Fp32({8});
  result.storage = 2;
  EXPECT_THAT(Texts({"aten::abs", {input, result}, {result}}),
              ElementsAre("elementwise fn=abs n=8 wb=4 fp32"));
}

TEST(AtenCopies, CastsAndLayouts) {
  EXPECT_THAT(Texts({"aten::copy_", {Fp32({8, 4}), Bf16({8, 4})}}),
              ElementsAre("copy n=32 to=fp32 bf16"));
  EXPECT_THAT(Texts({"aten::copy_", {Int64({8, 4}), Int64({8, 4}, {0, 1})}}),
              ElementsAre("copy n=32 mode=broadcast int64"));
  EXPECT_THAT(Texts({"aten::copy_", {Bf16({2, 5, 3, 4}), Bf16({2, 5, 3, 4}, {60, 4, 20, 1})}}),
              ElementsAre("copy n=120 mode=strided bf16"));
  EXPECT_THAT(Texts({"aten::copy_", {Fp32({8, 4}), Fp32({8, 4}, {9, 1})}}),
              ElementsAre("copy n=32 mode=strided fp32"));
  EXPECT_THAT(Texts({"aten::copy_", {Fp32({8, 4}), Bf16({8, 4}, {1, 8})}}),
              ElementsAre("copy n=32 to=fp32 mode=transposed bf16"));
}

// The source holds 2 matrices of 3 × 5, read column by column.
TEST(AtenCopies, WhatTurnsMatricesIsATransposition) {
  EXPECT_THAT(Texts({"aten::copy_", {Bf16({2, 5, 3}), Bf16({2, 5, 3}, {15, 1, 5})}}),
              ElementsAre("transpose b=2 m=3 n=5 bf16"));
}

TEST(AtenCopies, ACopyToItselfIsNone) {
  AtenTensor part = Bf16({8});
  part.storage = 1;
  AtenTensor next = part;
  next.offset = 8;
  EXPECT_THAT(Texts({"aten::copy_", {part, part}}), IsEmpty());
  EXPECT_THAT(Texts({"aten::copy_", {part, next}}), ElementsAre("copy n=8 bf16"));
}

TEST(AtenCopies, BetweenHostAndGpu) {
  EXPECT_THAT(Texts({"aten::copy_", {Fp32({8}), OnHost(Fp32({8}))}}),
              ElementsAre("memcpy bytes=32 int8"));
  EXPECT_THAT(Texts({"aten::copy_", {OnHost(Fp32({8})), Fp32({8})}}),
              ElementsAre("memcpy bytes=32 dir=d2h int8"));
  EXPECT_THAT(Texts({"aten::_local_scalar_dense", {Fp32({})}}),
              ElementsAre("memcpy bytes=4 dir=d2h int8"));
}

// copy_(target, source, non_blocking).
TEST(AtenCopies, WhatDoesNotBlockIsPinned) {
  EXPECT_THAT(Texts({"aten::copy_", {Fp32({8}), OnHost(Fp32({8})), Number(1)}}),
              ElementsAre("memcpy bytes=32 pinned=1 int8"));
  EXPECT_THAT(Texts({"aten::copy_", {Fp32({8}), OnHost(Fp32({8})), Number(0)}}),
              ElementsAre("memcpy bytes=32 int8"));
}

TEST(AtenCopies, JoinsSkipWhatIsEmpty) {
  EXPECT_THAT(
      Texts({"aten::cat", {std::vector<AtenTensor>{Bf16({8, 6}), Bf16({8, 6})}, Number(1)}}),
      ElementsAre("cat n=96 parts=2 run=6 bf16"));
  EXPECT_THAT(
      Texts({"aten::cat",
             {std::vector<AtenTensor>{Bf16({0}), Bf16({8, 5, 4}, {20, 4, 40})}, Number(-2)}}),
      ElementsAre("cat n=160 parts=1 run=20 mode=strided bf16"))
      << "the part lies in another order than the result";
}

TEST(AtenReductions, DimensionsAreTakenInTheOrderOfMemory) {
  EXPECT_THAT(Texts({"aten::sum", {Bf16({8, 4}), Integers{0}, Number(1)}}),
              ElementsAre("reduce outer=1 r=8 inner=4 bf16"));
  EXPECT_THAT(Texts({"aten::mean", {Bf16({2, 8, 4}), Integers{-1}}}),
              ElementsAre("reduce fn=mean outer=16 r=4 inner=1 bf16"));
  EXPECT_THAT(Texts({"aten::sum", {Bf16({8, 4}), kNone}}),
              ElementsAre("reduce outer=1 r=32 inner=1 bf16"));
  // Pixels of images whose channels lie side by side: 64 · 49 · 2048 in memory.
  EXPECT_THAT(
      Texts({"aten::mean", {Bf16({64, 2048, 7, 7}, {100352, 1, 14336, 2048}), Integers{-1, -2}}}),
      ElementsAre("reduce fn=mean outer=64 r=49 inner=2048 bf16"));
}

TEST(AtenLists, TensorsAreCountedTogether) {
  const std::vector<AtenTensor> parameters{Bf16({8, 4}), Bf16({8})};
  EXPECT_THAT(Texts({"aten::_fused_adamw_", {parameters, parameters, parameters}}),
              ElementsAre("optimizer n=40 tensors=2 chunks=2 bf16"));
  EXPECT_THAT(Texts({"aten::_foreach_norm", {parameters}}),
              ElementsAre("foreach fn=norm n=40 tensors=2 chunks=2 bf16"));
}

TEST(AtenPooling, WindowStrideAndPadding) {
  EXPECT_THAT(Texts({"aten::max_pool2d_with_indices",
                     {ChannelsLastImages(), Integers{3, 3}, Integers{2, 2}, Integers{1, 1}}}),
              ElementsAre("maxpool b=64 c=3 h=224 w=224 kernel=3 stride=2 pad=1 nhwc=1 bf16"));
}

TEST(AtenMeanings, ViewsHostsAndEmptyTensorsNeedNoKernel) {
  const auto meaning = [](const AtenCall& call) { return OperatorsOf(call).meaning; };
  EXPECT_EQ(meaning({"aten::view", {Bf16({8})}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"aten::fill_", {OnHost(Fp32({8})), Number(1)}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"aten::copy_", {Bf16({0}), Bf16({0})}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"AddBackward0", {Bf16({8})}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"c10d::allreduce_", {Bf16({8})}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"aten::cudnn_is_acceptable", {Bf16({8})}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"aten::resize_as_", {Bf16({8})}}), AtenMeaning::kNoKernel);
  EXPECT_EQ(meaning({"aten::_amp_update_scale_", {Fp32({}), Fp32({}), Fp32({})}}),
            AtenMeaning::kPriced);
}

// 8 floats read and 8 written; nothing else is known.
TEST(AtenMeanings, TheUnknownMovesItsTensors) {
  const AtenCall call{"mine::fancy", {Fp32({8})}, {Fp32({8})}};
  EXPECT_EQ(OperatorsOf(call).meaning, AtenMeaning::kUnknown);
  EXPECT_THAT(Texts(call), ElementsAre("elementwise fn=other n=8 wb=4 fp32"));
}

// cuDNN's call: input, weights, stride, buffer, states, then mode 2 (LSTM) or 3 (GRU), hidden size,
// projection, layers, batch first, dropout, training, bidirectional.
TEST(AtenRows, RecurrentLayersKeepTheirSizes) {
  EXPECT_THAT(
      Texts({"aten::_cudnn_rnn",
             {Bf16({16, 100, 32}), kNone, Number(4), kNone, kNone, kNone, Number(2), Number(64),
              Number(0), Number(3), Number(1), Number(0), Number(1), Number(1), Integers{}}}),
      ElementsAre("rnn layers=3 b=16 s=100 input=32 hidden=64 bi=1 bf16"));
  // fp32 as cuDNN computes it by default; steps come first.
  EXPECT_THAT(Texts({"aten::_cudnn_rnn_backward",
                     {Fp32({100, 16, 32}), kNone, Number(4), kNone, kNone, kNone, kNone, kNone,
                      kNone, kNone, Number(3), Number(64), Number(0), Number(1), Number(0),
                      Number(0), Number(1), Number(0), Integers{}}}),
              ElementsAre("rnn fn=gru layers=1 b=16 s=100 input=32 hidden=64 pass=bwd tf32"));
  // Packed: 5 sequences at the first step, 3 steps.
  EXPECT_THAT(Texts({"aten::_cudnn_rnn",
                     {Bf16({11, 32}), kNone, Number(4), kNone, kNone, kNone, Number(1), Number(64),
                      Number(0), Number(1), Number(0), Number(0), Number(1), Number(0),
                      Integers{5, 4, 2}}}),
              ElementsAre("rnn fn=tanh layers=1 b=5 s=3 input=32 hidden=64 bf16"));
  // A fused LSTM cell reads 4 + 4 gates and a state and writes two states and 4 gates.
  EXPECT_THAT(Texts({"aten::_thnn_fused_lstm_cell", {Fp32({8, 64}), Fp32({8, 64}), Fp32({8, 16})}}),
              ElementsAre("elementwise fn=other n=128 rb=36 wb=24 fp32"));
}

TEST(AtenRows, GroupNormsTakeTheirSizesFromArguments) {
  EXPECT_THAT(Texts({"aten::native_group_norm",
                     {Bf16({2, 64, 8, 8}), Bf16({64}), Bf16({64}), Number(2), Number(64),
                      Number(64), Number(32), 1e-5}}),
              ElementsAre("groupnorm b=2 c=64 hw=64 groups=32 bf16"));
  EXPECT_THAT(Texts({"aten::native_group_norm_backward",
                     {Bf16({2, 64, 8, 8}), Bf16({2, 64, 8, 8}), Fp32({2, 32}), Fp32({2, 32}),
                      Bf16({64}), Number(2), Number(64), Number(64), Number(32)}}),
              ElementsAre("groupnorm b=2 c=64 hw=64 groups=32 pass=bwd bf16"));
}

TEST(AtenRows, LossesOfTwoTensors) {
  EXPECT_THAT(Texts({"aten::mse_loss", {Fp32({8, 4}), Fp32({8, 4}), Number(1)}}),
              ElementsAre("loss n=32 fp32"));
  EXPECT_THAT(Texts({"aten::huber_loss", {Fp32({8, 4}), Fp32({8, 4}), Number(0), 1.0}}),
              ElementsAre("loss fn=huber n=32 reduction=none fp32"));
  EXPECT_THAT(Texts({"aten::binary_cross_entropy_backward",
                     {Fp32({}), Fp32({8, 4}), Fp32({8, 4}), kNone, Number(2)}}),
              ElementsAre("loss fn=bce n=32 reduction=sum pass=bwd fp32"));
  EXPECT_TRUE(OperatorsOf({"aten::l1_loss", {Fp32({8}), Fp32({8}), Number(1)}}).only_passes_on);
}

// Two bf16 tensors of 32 elements and one of fp32: 2·64 + 128 bytes.
TEST(AtenTriton, LoopsArePricedByTheBytesOfTheirTensors) {
  EXPECT_THAT(Texts({"triton_poi_fused_add_0",
                     {Bf16({8, 4}), Bf16({8, 4}), Fp32({8, 4}), Number(32), Number(0)}}),
              ElementsAre("triton rows=1 cols=32 bytes=256 tensors=3 bf16"));
  // Rows of 4: the second count of a reduction. 64 + 32 bytes; the stream's address is no count.
  EXPECT_THAT(Texts({"triton_per_fused_sum_1",
                     {Bf16({2, 4, 4}), Fp32({8}), Number(8), Number(4), Number(140382148398488)}}),
              ElementsAre("triton fn=persistent rows=8 cols=4 bytes=96 tensors=2 bf16"));
  EXPECT_THAT(Texts({"triton_red_fused_sum_1", {Bf16({8, 4}), Fp32({8})}}),
              ElementsAre("triton fn=reduction rows=8 cols=4 bytes=96 tensors=2 bf16"));
  // Kernels that people write have any name.
  EXPECT_EQ(
      Text(TritonOperators({"my_kernel_0", {Fp32({8}), Number(2), Number(0)}}).operators.at(0)),
      "triton rows=1 cols=8 bytes=32 tensors=1 fp32");
}

// Four rows of eight elements: 4 indices of 8 bytes, 4 rows of the table, of which there are 1000,
// and 32 elements that are written; the stream, which comes last, is no count.
TEST(AtenTriton, ATableIsReadWhereItIsLookedUp) {
  const AtenTensor indices{.dims = {4}, .type = DataType::kInt64};
  EXPECT_THAT(Texts({"triton_per_fused_embedding_sum_0",
                     {indices, Bf16({1000, 8}), Bf16({4, 8}), Number(4), Number(8), Number(7)}}),
              ElementsAre("triton fn=persistent rows=4 cols=8 bytes=160 tensors=3 bf16"));
}

TEST(AtenTriton, TemplatesAreProductsAndAttention) {
  EXPECT_THAT(Texts({"triton_tem_fused_mm_2", {Bf16({8, 4}), Bf16({4, 6}, {1, 4}), Bf16({8, 6})}}),
              ElementsAre("gemm m=8 n=6 k=4 layout=nt bf16"));
  const AtenTensor query = Bf16({2, 8, 256, 64});
  const AtenTensor key = Bf16({2, 4, 256, 64});
  EXPECT_THAT(
      Texts({"triton_tem_fused_flex_attention_0", {query, key, key, Fp32({2, 8, 256}), query}}),
      ElementsAre("attention b=2 h=8 kv=4 sq=256 sk=256 d=64 backend=flex bf16"));
  AtenTensor blocks = Int64({1, 1, 2});
  blocks.type = DataType::kInt32;
  EXPECT_THAT(Texts({"triton_tem_fused_flex_attention_backward_1", {query, key, key, blocks}}),
              ElementsAre("attention b=2 h=8 kv=4 sq=256 sk=256 d=64 causal=1 backend=flex "
                          "pass=bwd bf16"));
}

// Old files have no tensors of compiled kernels: there is nothing to price, but it is said.
TEST(AtenMeanings, CompiledKernelsAreUnknown) {
  const AtenOperators answer = OperatorsOf({"triton_poi_fused_add_0"});
  EXPECT_EQ(answer.meaning, AtenMeaning::kUnknown);
  EXPECT_THAT(answer.operators, IsEmpty());
}

TEST(AtenMeanings, NodesOfAutogradThatPeopleWroteMayLaunchKernels) {
  EXPECT_EQ(OperatorsOf({"FusedNormBackward", {Bf16({8})}}).meaning, AtenMeaning::kUnknown);
  EXPECT_EQ(OperatorsOf({"ExpandBackward0", {Bf16({8})}}).meaning, AtenMeaning::kNoKernel);
}

TEST(AtenMeanings, OperatorsThatPassOnAreMarked) {
  const AtenCall call{"aten::linear", {Bf16({2, 8, 4}), Bf16({6, 4}), Bf16({6})}};
  EXPECT_TRUE(OperatorsOf(call).only_passes_on);
  EXPECT_THAT(Texts(call), ElementsAre("gemm m=16 n=6 k=4 layout=nt bias=1 bf16"));
}

}  // namespace
}  // namespace orrery::kernel
