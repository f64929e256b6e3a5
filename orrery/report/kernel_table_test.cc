#include <optional>
#include <string>
#include <string_view>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/document/value.h"
#include "orrery/report/document.h"
#include "orrery/report/kernel_name.h"
#include "orrery/report/run_report.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::report {
namespace {

using analyze::test_run::Rank;
using analyze::test_run::Span;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::SizeIs;

TEST(KernelNameTest, NamespacesParametersAndLaunchersGo) {
  EXPECT_EQ(ShortKernelName("ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*, ncclWork*)"),
            "ncclDevKernel_AllReduce_Sum_f16_RING_LL");
  EXPECT_EQ(ShortKernelName("void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_128x256_nn>"
                            "(cutlass_80_tensorop_s16816gemm_128x256_nn::Params)"),
            "cutlass_80_tensorop_s16816gemm_128x256_nn");
  EXPECT_EQ(
      ShortKernelName("void at::native::vectorized_elementwise_kernel<8, "
                      "at::native::BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, "
                      "at::native::binary_internal::MulFunctor<float> >, std::array<char*, 3ul> >"
                      "(int, at::native::BinaryFunctor<c10::BFloat16>, std::array<char*, 3ul>)"),
      "BinaryFunctor<BFloat16, MulFunctor<float>>, vectorized");
  EXPECT_EQ(ShortKernelName("void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<"
                            "c10::BFloat16, float, false>(int, float, c10::BFloat16 const*)"),
            "vectorized_layer_norm_kernel<BFloat16, float>");
}

TEST(KernelNameTest, ALambdaIsItsFunction) {
  EXPECT_EQ(ShortKernelName(
                "void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl_nocast<"
                "at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::"
                "operator()() const::{lambda(float)#1}>(at::TensorIteratorBase&, int const&)::"
                "{lambda(int)#1}>(int, int)"),
            "direct_copy_kernel_cuda");
  EXPECT_EQ(
      ShortKernelName("void at::native::reduce_kernel<128, 4, at::native::ReduceOp<float, "
                      "at::native::func_wrapper_t<float, at::native::sum_functor<float, float, "
                      "float>::operator()(at::TensorIterator&)::{lambda(float, float)#1}>, "
                      "unsigned int, float, 4, 4> >(at::native::ReduceOp<float>)"),
      "sum_functor<float>, reduce");
}

TEST(KernelNameTest, WhatIsNoNameStays) {
  for (const std::string_view name : {"fusion.12", "", "a, b", "a<b", "(", "%dot = bf16[8]{1,0}"}) {
    EXPECT_EQ(ShortKernelName(name), name);
  }
  const std::string deep(100'000, '<');
  EXPECT_EQ(ShortKernelName(deep), deep);
}

TEST(KernelNameTest, NumbersStayWhereNamesWouldBeTheSame) {
  EXPECT_THAT(ShortKernelNames({"void norm<float, 32>(int)", "void norm<float, 64>(int)",
                                "void softmax<float, 64>(int)"}),
              ElementsAre("norm<float, 32>", "norm<float, 64>", "softmax<float>"));
  EXPECT_THAT(
      ShortKernelNames({"void at::native::reduce_kernel<128, 4, sum_functor<float> >(int)",
                        "void at::native::reduce_kernel<512, 1, sum_functor<float> >(int)"}),
      ElementsAre("sum_functor<float>, reduce 128 4", "sum_functor<float>, reduce 512 1"));
}

TEST(KernelNameTest, PlainNamesKeepTheirEnd) {
  EXPECT_EQ(FittedName("nvjet_sm90_tst_256x128_64x4_1x2_h_bz_coopA_bias_TNT", 40),
            "nvjet_sm90_tst_256x128_64…coopA_bias_TNT");
  EXPECT_EQ(FittedName("cunn_SoftMaxForward<BFloat16, LogSoftMaxForwardEpilogue>", 30),
            "cunn_SoftMaxForward<BFloat16,…");
}

void AddOperator(Rank& rank, std::string_view name, Span span, std::string_view dims,
                 std::string_view type) {
  rank.Operator(name, span);
  trace::Trace& trace = rank.trace();
  trace.host_ops.input_dims.back() = trace.strings.Intern(dims);
  trace.host_ops.input_types.back() =
      trace.strings.Intern("[\"" + std::string(type) + "\", \"" + std::string(type) + "\"]");
}

RunReport ReportOf(Rank& rank, std::string_view device = "NVIDIA A100-SXM4-80GB") {
  trace::Trace& trace = rank.trace();
  trace.devices.Append({.id = 0, .name = trace.strings.Intern(device)});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return CollectReport(analyze::ViewRun(set, {}, {.threads = 1}), "one");
}

// A100: 312 TFLOP/s in bf16, 2,039 GB/s. 4,096³ · 2 = 137.4 GFLOP in 1,000 µs are 137.4 TFLOP/s,
// 44.05 % of the peak; 3 · 4,096² · 2 B = 100.7 MB would take 49 µs, so compute limits it. The
// addition moves 3 · 4,096² · 2 B in 100 µs: 1,006.6 GB/s, 49.37 % of the bandwidth. 1,000, 100 and
// 100 µs of 1,200; the last one's operator is not known.
TEST(KernelTableTest, AchievedRatesAgainstTheRoofThatLimits) {
  Rank rank(0);
  AddOperator(rank, "aten::mm", {0, 10}, "[[4096, 4096], [4096, 4096]]", "c10::BFloat16");
  rank.Kernel("gemm_bf16", {10, 1010}, 7, rank.Call({1, 2}));
  AddOperator(rank, "aten::add", {20, 30}, "[[4096, 4096], [4096, 4096]]", "c10::BFloat16");
  rank.Kernel("add_kernel", {1010, 1110}, 7, rank.Call({21, 22}));
  rank.Kernel("unknown_kernel", {1110, 1210});

  const RunReport report = ReportOf(rank);

  ASSERT_THAT(report.kernels, SizeIs(3));
  const KernelRow& gemm = report.kernels[0];
  EXPECT_EQ(gemm.kernel_class, "gemm");
  EXPECT_DOUBLE_EQ(gemm.calls, 1);
  EXPECT_DOUBLE_EQ(gemm.share, 1000.0 / 1200);
  EXPECT_DOUBLE_EQ(*gemm.flops_per_second, 2.0 * 4096 * 4096 * 4096 / 1e-3);
  EXPECT_NEAR(*gemm.roof_share, 0.44052, 1e-4);
  EXPECT_EQ(BoundName(gemm), "compute");
  const KernelRow& addition = report.kernels[1];
  EXPECT_DOUBLE_EQ(*addition.bytes_per_second, 3.0 * 4096 * 4096 * 2 / 100e-6);
  EXPECT_NEAR(*addition.roof_share, 0.49370, 1e-4);
  EXPECT_EQ(BoundName(addition), "memory");
  EXPECT_EQ(report.kernels[2].roof_share, std::nullopt);
}

// 137.4 GFLOP in 400 µs are 344 TFLOP/s: more than the A100 has, so the type is another.
TEST(KernelTableTest, MoreThanThePeakIsUnknown) {
  Rank rank(0);
  AddOperator(rank, "aten::mm", {0, 10}, "[[4096, 4096], [4096, 4096]]", "c10::BFloat16");
  rank.Kernel("gemm_int8", {10, 410}, 7, rank.Call({1, 2}));
  EXPECT_EQ(ReportOf(rank).kernels[0].flops_per_second, std::nullopt);
}

// 1,024³ · 2 = 2.147 GFLOP in 215 µs, 10.0 TFLOP/s: 51.2 % of 19.5 in fp32, 6.4 % of 156 in TF32.
TEST(KernelTableTest, TheNameTellsWhetherFp32RunsAsTf32) {
  const auto roof_of = [](std::string_view kernel) {
    Rank rank(0);
    AddOperator(rank, "aten::mm", {0, 10}, "[[1024, 1024], [1024, 1024]]", "float");
    rank.Kernel(kernel, {10, 225}, 7, rank.Call({1, 2}));
    return ReportOf(rank).kernels[0].roof_share;
  };
  EXPECT_NEAR(*roof_of("ampere_sgemm_128x64_nn"), 0.5122, 1e-3);
  EXPECT_NEAR(*roof_of("sm80_xmma_gemm_f32f32_tf32f32_f32"), 0.0640, 1e-3);
  EXPECT_EQ(roof_of("gemm_of_someone"), std::nullopt);
}

// The first takes 90 % of the time of the call's GEMM kernels: 2 · 1,024³ FLOP in 90 µs.
TEST(KernelTableTest, TheKernelWithNearlyAllTimeOfACallHasItsWork) {
  Rank rank(0);
  AddOperator(rank, "aten::mm", {0, 10}, "[[1024, 1024], [1024, 1024]]", "c10::BFloat16");
  rank.Kernel("gemm_a", {10, 100}, 7, rank.Call({1, 2}));
  rank.Kernel("gemm_split_k", {100, 110}, 7, rank.Call({3, 4}));
  const RunReport report = ReportOf(rank);
  EXPECT_DOUBLE_EQ(*report.kernels[0].flops_per_second, 2.0 * 1024 * 1024 * 1024 / 90e-6);
  EXPECT_EQ(report.kernels[1].flops_per_second, std::nullopt);
}

// The parts of two GEMM kernels in a call's work are not known.
TEST(KernelTableTest, TwoMainKernelsOfACallAreUnknown) {
  Rank rank(0);
  AddOperator(rank, "aten::mm", {0, 10}, "[[1024, 1024], [1024, 1024]]", "c10::BFloat16");
  rank.Kernel("gemm_a", {10, 60}, 7, rank.Call({1, 2}));
  rank.Kernel("gemm_b", {60, 100}, 7, rank.Call({3, 4}));
  const RunReport report = ReportOf(rank);
  EXPECT_EQ(report.kernels[0].roof_share, std::nullopt);
  EXPECT_EQ(report.kernels[1].roof_share, std::nullopt);
}

TEST(KernelTableTest, AGpuThatIsNotInTheCatalogueHasNoRoof) {
  Rank rank(0);
  AddOperator(rank, "aten::mm", {0, 10}, "[[1024, 1024], [1024, 1024]]", "c10::BFloat16");
  rank.Kernel("gemm_bf16", {10, 60}, 7, rank.Call({1, 2}));
  const std::string text = RenderText(RunDocument(ReportOf(rank, "Abacus")));
  EXPECT_THAT(text, HasSubstr("No roofline: it takes recorded shapes and a GPU of the catalogue."));
}

// Compute runs from 0 to 80 and communication from 60 to 100: 20 of 40 µs are hidden.
TEST(OverlapTest, HiddenAndExposedCommunication) {
  Rank rank(0);
  rank.Kernel("gemm", {0, 80});
  rank.Kernel("ncclDevKernel_AllReduce", {60, 100}, 20);
  const RunReport report = ReportOf(rank);
  EXPECT_EQ(OverlapText(report),
            "Communication: 40.0 µs; 50.0 % of it hidden by compute, 20.0 µs exposed.");
  EXPECT_DOUBLE_EQ(ExposedNs(report), 20'000);
  EXPECT_DOUBLE_EQ(MeanOf(report.communication).hidden_share, 0.5);
}

TEST(OverlapTest, NothingIsSaidWithoutCommunication) {
  Rank rank(0);
  rank.Kernel("gemm", {0, 80});
  EXPECT_THAT(RenderText(RunDocument(ReportOf(rank))), Not(HasSubstr("Communication:")));
}

}  // namespace
}  // namespace orrery::report
