#include "orrery/kernel/aten.h"

#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

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

TEST(AtenGemms, SizesThatDoNotFitAreUnknown) {
  const AtenOperators answer = OperatorsOf({"aten::mm", {Bf16({8, 4}), Bf16({5, 6})}});
  EXPECT_EQ(answer.meaning, AtenMeaning::kUnknown);
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
}

// 8 floats read and 8 written; nothing else is known.
TEST(AtenMeanings, TheUnknownMovesItsTensors) {
  const AtenCall call{"mine::fancy", {Fp32({8})}, {Fp32({8})}};
  EXPECT_EQ(OperatorsOf(call).meaning, AtenMeaning::kUnknown);
  EXPECT_THAT(Texts(call), ElementsAre("elementwise fn=other n=8 wb=4 fp32"));
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
