#include <cstddef>
#include <cstdint>
#include <string_view>

#include <gtest/gtest.h>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/document/value.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

// Metrics that follow work from the host to the device, and what it is for.

namespace orrery::analyze {
namespace {

using test_run::Rank;

MetricResult Measure(std::string_view name, Rank& rank) {
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const RunView run = ViewRun(set, {}, {});
  const auto named = FindMetric(name);
  return named ? Evaluate(*named, run) : NotAvailable("no such metric");
}

// Follows a path of fields and places ("per_rank", 0, "streams", …) into a detail.
const Value& At(const Value& value) {
  return value;  // NOLINT(bugprone-return-const-ref-from-parameter): as long as the detail lives
}

template <typename... Rest>
const Value& At(const Value& value, std::string_view field, Rest... rest);

template <typename... Rest>
const Value& At(const Value& value, int place, Rest... rest) {
  return At(value.items().at(static_cast<std::size_t>(place)), rest...);
}

template <typename... Rest>
const Value& At(const Value& value, std::string_view field, Rest... rest) {
  static const Value kNothing;
  const Value* const found = value.Find(field);
  return found == nullptr ? kNothing : At(*found, rest...);
}

// Calls of 2, 60 and 2 µs that end at 2, 70 and 82; work begins 8, 130 and 0 µs later, the last
// one while its call still runs. Median of 8, 130, 0.
TEST(LaunchStatsTest, DelayIsFromTheEndOfTheCallToTheBeginOfTheWork) {
  Rank rank(0);
  rank.Kernel("a", {10, 40}, 7, rank.Call({0, 2}));
  rank.Kernel("b", {200, 210}, 7, rank.Call({10, 70}));
  rank.Copy("Memcpy DtoH", {81, 90}, 64, 8, rank.Call({80, 82}, "cudaMemcpyAsync"));
  const MetricResult result = Measure("launch_stats", rank);
  EXPECT_EQ(result.value, 8.0);
  const Value& row = At(result.detail, "per_rank", 0);
  EXPECT_EQ(At(row, "work_shorter_than_call"), Value(1)) << "b: 10 µs of work, 60 of the call";
  EXPECT_EQ(At(row, "calls_over_50_us"), Value(1));
  EXPECT_EQ(At(row, "delays_over_100_us"), Value(1));
  EXPECT_EQ(At(row, "delay_us_by_call", "cudaMemcpyAsync", "max"), Value(0.0));
}

// One call launches a graph of three kernels: one call of 20 µs, three delays.
TEST(LaunchStatsTest, AGraphIsOneCall) {
  Rank rank(0);
  const std::int64_t graph = rank.Call({0, 20}, "cudaGraphLaunch");
  rank.Kernel("a", {30, 40}, 7, graph).Kernel("b", {40, 50}, 7, graph);
  rank.Kernel("c", {60, 70}, 7, graph);
  const MetricResult result = Measure("launch_stats", rank);
  EXPECT_EQ(result.value, 20.0);
  EXPECT_EQ(At(result.detail, "per_rank", 0, "call_us", "count"), Value(1));
}

TEST(LaunchStatsTest, WithoutCallsNothingIsKnown) {
  Rank rank(0);
  rank.Kernel("a", {10, 40});
  EXPECT_EQ(Measure("launch_stats", rank).reason,
            "no launch calls of the work in the selected steps");
}

// Launches at 0, 10, 20; work begins at 5, 30, 50. Lengths: 1 until 5, 0 until 10, 1 until 20, 2
// until 30, 1 until 50. The mean over 50 µs is (5 + 10 + 20 + 20)/50. Stream 8 holds one.
TEST(QueueLengthTest, WorkWaitsFromItsCallToItsBegin) {
  Rank rank(0);
  rank.Kernel("a", {5, 30}, 7, rank.Call({0, 1}));
  rank.Kernel("b", {30, 50}, 7, rank.Call({10, 11}));
  rank.Kernel("c", {50, 60}, 7, rank.Call({20, 21}));
  rank.Kernel("d", {35, 40}, 8, rank.Call({22, 23}));
  const MetricResult result = Measure("queue_length", rank);
  EXPECT_EQ(result.value, 2.0);
  const Value& stream = At(result.detail, "per_rank", 0, "streams", 0);
  EXPECT_EQ(At(stream, "mean_length"), Value(55.0 / 50.0));
  EXPECT_EQ(At(stream, "full_ns"), Value(0));
}

// 1,025 launches, one each µs from 0, begin one each µs from 2000: the queue is full (1,024) from
// 1023 on; it holds 1,025 until 2000, 1,024 until 2001.
TEST(QueueLengthTest, AFullQueueBlocksTheHost) {
  Rank rank(0);
  for (std::int64_t i = 0; i < 1025; ++i) {
    rank.Kernel("k", {2000 + i, 2001 + i}, 7, rank.Call({i, i + 1}));
  }
  const MetricResult result = Measure("queue_length", rank);
  EXPECT_EQ(result.value, 1025.0);
  EXPECT_EQ(At(result.detail, "per_rank", 0, "streams", 0, "full_ns"), Value(978'000));
}

// 40,000 bytes in 10 µs and 8,000 in 2: 48,000/12 µs = 4 GB/s; the set of 1 µs is apart.
TEST(MemoryBandwidthTest, SetsAreNotCopies) {
  Rank rank(0);
  rank.Copy("Memcpy HtoD", {0, 10}, 40'000).Copy("Memcpy DtoH", {10, 12}, 8'000);
  rank.Copy("Memset", {12, 13}, 1'000'000);
  trace::Trace& trace = rank.trace();
  trace.activities.copy_kind[0] = trace::CopyKind::kHostToDevice;
  trace.activities.copy_kind[1] = trace::CopyKind::kDeviceToHost;
  trace.activities.kind[2] = trace::ActivityKind::kMemset;
  const MetricResult result = Measure("memory_bandwidth", rank);
  EXPECT_EQ(result.value, 4.0);
  EXPECT_EQ(At(result.detail, "by_kind", 0, "kind"), Value("set"));
  EXPECT_EQ(At(result.detail, "by_kind", 0, "count"), Value(1));
  EXPECT_EQ(At(result.detail, "by_kind", 1, "kind"), Value("HtoD"));
  EXPECT_EQ(At(result.detail, "by_kind", 1, "max_GB_per_s"), Value(4.0));
}

// The deepest operator begins at 3, the call at 5, the kernel at 12: 2 and 7 µs.
TEST(OperatorDelaysTest, TheDeepestOperatorCounts) {
  Rank rank(0);
  rank.Operator("aten::linear", {0, 20}).Operator("aten::addmm", {3, 10});
  rank.Kernel("gemm", {12, 40}, 7, rank.Call({5, 6}));
  const MetricResult result = Measure("operator_delays", rank);
  EXPECT_EQ(result.value, 9.0);
  EXPECT_EQ(At(result.detail, "operators", 0, "operator"), Value("aten::addmm"));
  EXPECT_EQ(At(result.detail, "operators", 0, "mean_to_launch_us"), Value(2.0));
  EXPECT_EQ(At(result.detail, "operators", 0, "mean_to_work_us"), Value(7.0));
}

// Three layers launch gemm and relu, inside other operators; one copies with a single kernel.
TEST(KernelSequencesTest, KernelsOfTheOutermostOperatorMakeASequence) {
  Rank rank(0);
  for (std::int64_t layer = 0; layer < 3; ++layer) {
    const std::int64_t at = layer * 100;
    rank.Operator("layer", {at, at + 50}).Operator("aten::mm", {at + 1, at + 10});
    rank.Kernel("gemm", {at + 20, at + 40}, 7, rank.Call({at + 2, at + 3}));
    rank.Kernel("relu", {at + 40, at + 45}, 7, rank.Call({at + 12, at + 13}));
  }
  rank.Operator("aten::copy_", {300, 310});
  rank.Kernel("copy", {320, 390}, 7, rank.Call({301, 302}));
  const MetricResult result = Measure("kernel_sequences", rank);
  EXPECT_EQ(result.value, 3.0);
  EXPECT_EQ(At(result.detail, "num_sequences"), Value(1));
  const Value& row = At(result.detail, "sequences", 0);
  EXPECT_EQ(At(row, "operator"), Value("layer"));
  EXPECT_EQ(At(row, "sum_ns"), Value(75'000));
  EXPECT_EQ(At(row, "kernels"), Value::List().Add("gemm").Add("relu"));
}

// 30 µs of work inside "forward", of which 10 inside "attention"; 10 inside no range but the step.
TEST(AnnotationBreakdownTest, TheInnermostRangeThatIsNoStepHasTheWork) {
  Rank rank(0);
  rank.Step(0, {0, 100}).Annotation("forward", {0, 50}).Annotation("attention", {10, 20});
  rank.Kernel("a", {10, 30}, 7, rank.Call({1, 2}));
  rank.Kernel("b", {30, 40}, 7, rank.Call({12, 13}));
  rank.Kernel("c", {60, 70}, 7, rank.Call({55, 56}));
  const MetricResult result = Measure("annotation_breakdown", rank);
  EXPECT_EQ(result.value, 50.0);
  EXPECT_EQ(At(result.detail, "largest"), Value("forward"));
  EXPECT_EQ(At(result.detail, "annotations", 0, "sum_ns"), Value(20'000));
  EXPECT_EQ(At(result.detail, "annotations", 1, "percent"), Value(25.0));
}

// Durations 10, 20 and 30 of one gemm: mean 20, deviation √(200/3); 40 of NCCL are 40 %.
TEST(KernelBreakdownTest, ClassesAndKernelsHaveTheirStatistics) {
  Rank rank(0);
  rank.Kernel("sgemm", {0, 10}).Kernel("sgemm", {10, 30}).Kernel("sgemm", {30, 60});
  rank.Kernel("ncclDevKernel_AllReduce_Sum_f16_RING_LL", {60, 100});
  const MetricResult result = Measure("kernel_breakdown", rank);
  EXPECT_EQ(result.value, 60.0);
  const Value& row = At(result.detail, "classes", 0);
  EXPECT_EQ(At(row, "class"), Value("gemm"));
  EXPECT_EQ(At(row, "mean_ns"), Value(20'000.0));
  EXPECT_NEAR(std::get<double>(At(row, "std_ns").variant()), 8164.9658, 1e-4);
  EXPECT_EQ(At(result.detail, "kernels", 1, "percent"), Value(40.0));
}

}  // namespace
}  // namespace orrery::analyze
