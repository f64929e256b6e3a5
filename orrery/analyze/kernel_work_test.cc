#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using test_run::Rank;
using test_run::Span;

// An operator with a shape; the test rank has operators without.
void AddGemm(Rank& rank, Span span, std::string_view dims) {
  rank.Operator("aten::mm", span);
  trace::Trace& trace = rank.trace();
  trace.host_ops.input_dims.back() = trace.strings.Intern(dims);
  trace.host_ops.input_types.back() =
      trace.strings.Intern(R"json(["c10::BFloat16", "c10::BFloat16"])json");
}

void SetExtra(Rank& rank, std::string_view fields) {
  rank.trace().activities.extra.back() = rank.trace().strings.Intern(fields);
}

struct Measured {
  std::vector<KernelWork> works;
  MetricResult memory_bound;
  MetricResult rate;
  MetricResult sum;
  MetricResult bandwidth;
};

Measured Measure(Rank& rank, std::string_view device = "NVIDIA A100-SXM4-80GB") {
  trace::Trace& trace = rank.trace();
  trace.devices.Append({.id = 0, .name = trace.strings.Intern(device)});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  const auto evaluate = [&](std::string_view name) { return Evaluate(*FindMetric(name), run); };
  return {.works = KnownWork(run, run.devices.front()),
          .memory_bound = evaluate("memory_bound_fraction"),
          .rate = evaluate("achieved_flops_from_trace_json"),
          .sum = evaluate("total_model_flops_from_args"),
          .bandwidth = evaluate("estimated_bandwidth")};
}

// One generic kernel for 30 µs under a layer norm and for 10 µs under an addition: each part counts
// for its own class; the name has the class of the 30.
TEST(KernelTotalsTest, KernelsOfOneNameCountForTheClassOfEachCall) {
  constexpr const char* kName = "vectorized_elementwise_kernel";
  Rank rank(0);
  rank.Operator("aten::layer_norm", {0, 10});
  rank.Kernel(kName, {20, 50}, 7, rank.Call({1, 2}));
  rank.Operator("aten::add", {11, 20});
  rank.Kernel(kName, {50, 60}, 7, rank.Call({12, 13}));
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});

  const std::vector<KernelTotal> classes = TotalKernelClasses(run);
  ASSERT_EQ(classes.size(), 2U);
  EXPECT_EQ(classes[0].name, "normalisation");
  EXPECT_EQ(classes[0].durations.sum_ns, 30'000);
  EXPECT_EQ(classes[1].name, "element-wise");
  EXPECT_EQ(classes[1].durations.sum_ns, 10'000);
  const std::vector<KernelTotal> kernels = TotalKernels(run);
  ASSERT_EQ(kernels.size(), 1U);
  EXPECT_EQ(kernels[0].durations.sum_ns, 40'000);
  EXPECT_EQ(kernels[0].kernel_class, trace::KernelClass::kNormalisation);
}

// One call launches a copy-like kernel of 50 µs, a gemm of 20 and one of 30: the gemm of 30 has the
// work. 2·1000·1000·1000 = 2e9 FLOPs and 6e6 bytes over 100 µs of kernels.
TEST(KernelWorkTest, TheLongestGemmOfACallHasItsWork) {
  Rank rank(0);
  AddGemm(rank, {0, 10}, "[[1000, 1000], [1000, 1000]]");
  rank.Kernel("transpose_kernel", {10, 60}, 7, rank.Call({1, 2}));
  rank.Kernel("sgemm_a", {60, 80}, 7, rank.Call({3, 4}));
  rank.Kernel("sgemm_b", {80, 110}, 7, rank.Call({5, 6}));
  const Measured measured = Measure(rank);
  ASSERT_EQ(measured.works.size(), 1);
  EXPECT_EQ(measured.works[0].activity, 2);
  EXPECT_EQ(measured.sum.value, 2e9);
  EXPECT_DOUBLE_EQ(*measured.rate.value, 2e9 / 100e-6);
  EXPECT_DOUBLE_EQ(*measured.bandwidth.value, 60.0);
  EXPECT_EQ(*measured.rate.detail.Find("covered_percent"), Value(30.0));
  EXPECT_EQ(*measured.rate.detail.Find("bound"), Value("lower"));
}

// A100: 312 TFLOP/s in bf16 and 2,039 GB/s, a ridge of 153 FLOPs a byte. A product of n × n
// matrices has 2n³ FLOPs and 6n² bytes, n/3 a byte: 341 for 1,024 and 43 for 128. 30 of 120 µs.
TEST(MemoryBoundFractionTest, SmallGemmsLieLeftOfTheRidge) {
  Rank rank(0);
  AddGemm(rank, {0, 10}, "[[1024, 1024], [1024, 1024]]");
  rank.Kernel("sgemm", {10, 100}, 7, rank.Call({1, 2}));
  AddGemm(rank, {20, 30}, "[[128, 128], [128, 128]]");
  rank.Kernel("sgemm", {100, 130}, 7, rank.Call({21, 22}));
  rank.Kernel("softmax", {130, 160});
  const Measured measured = Measure(rank);
  EXPECT_EQ(measured.memory_bound.value, 25.0);
  EXPECT_EQ(*measured.memory_bound.detail.Find("covered_percent"), Value(80.0));
}

// The cost model's own FLOPs are believed before the shapes; 4,000 bytes in a window of 20 µs.
TEST(KernelWorkTest, TheCostModelComesFirst) {
  Rank rank(0);
  AddGemm(rank, {0, 10}, "[[1000, 1000], [1000, 1000]]");
  rank.Kernel("fusion.1", {10, 20}, 7, rank.Call({1, 2}));
  SetExtra(rank, R"json("flops":"900","model_flops":"800","bytes_accessed":"3000")json");
  rank.Kernel("fusion.2", {20, 30});
  SetExtra(rank, R"json("flops":"200","bytes_accessed":1000)json");
  const Measured measured = Measure(rank);
  EXPECT_EQ(measured.sum.value, 1000.0);
  EXPECT_EQ(measured.bandwidth.value, 0.2);
  EXPECT_EQ(*measured.sum.detail.Find("source"), Value("XLA cost model"));
  EXPECT_EQ(measured.sum.detail.Find("bound"), nullptr);
}

TEST(KernelWorkTest, WithoutShapesNothingIsKnown) {
  Rank rank(0);
  rank.Kernel("sgemm", {10, 20});
  const Measured measured = Measure(rank);
  EXPECT_EQ(measured.memory_bound.reason, "FLOPs and bytes known for no kernel");
  EXPECT_EQ(measured.rate.reason, "no FLOP counts");
  EXPECT_EQ(measured.sum.reason, "no FLOP counts");
  EXPECT_EQ(measured.bandwidth.reason, "no byte counts");
}

TEST(MemoryBoundFractionTest, ADeviceThatIsNotInTheCatalogueHasNoRidge) {
  Rank rank(0);
  rank.Kernel("sgemm", {10, 20});
  EXPECT_EQ(Measure(rank, "Abacus").memory_bound.reason,
            "no peak rate for the device in the hardware catalogue");
}

}  // namespace
}  // namespace orrery::analyze
