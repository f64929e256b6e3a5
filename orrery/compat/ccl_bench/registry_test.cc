#include "orrery/compat/ccl_bench/registry.h"

#include <cstddef>
#include <cstdint>
#include <set>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/columns.h"
#include "orrery/base/text/table.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::compat::ccl_bench {
namespace {

using analyze::test_run::Rank;

constexpr std::string_view kAllReduce = "ncclDevKernel_AllReduce_Sum_f16_RING_LL(ncclDevComm*)";

// Two ranks and one step. Rank 0 computes 40 µs and communicates from 50 to 80; rank 1 computes 60
// and communicates from 20 to 80, of which 20 to 60 overlap.
trace::TraceSet TwoRanks() {
  Rank first(0);
  first.Step(1, {0, 100}).Kernel("gemm", {0, 40}).Kernel(kAllReduce, {50, 80}, 20);
  Rank second(1);
  second.Step(1, {0, 120}).Kernel("gemm", {0, 60}).Kernel(kAllReduce, {20, 80}, 20);
  trace::TraceSet set;
  set.ranks.push_back(first.Finish());
  set.ranks.push_back(second.Finish());
  return set;
}

double ValueOf(std::string_view name, const trace::TraceSet& set) {
  const MetricResult result = ComputeMetric(name, {.set = &set});
  EXPECT_TRUE(result.value) << name << ": " << result.reason;
  return result.value.value_or(-999);
}

TEST(CclBenchTest, KnowsEveryRegisteredNameOnce) {
  const auto names = MetricNames();
  EXPECT_EQ(names.size(), 61u + 5u);
  EXPECT_EQ(std::set(names.begin(), names.end()).size(), names.size());
}

TEST(CclBenchTest, NamesMatchIgnoringCaseAndUnknownNamesAreNotAvailable) {
  const trace::TraceSet set = TwoRanks();
  EXPECT_EQ(ComputeMetric("AVG_STEP_TIME", {.set = &set}).unit, "s");
  EXPECT_EQ(ComputeMetric("no_such", {.set = &set}).reason, "ccl-bench has no such metric");
}

// No metric may crash on a run without rows.
TEST(CclBenchTest, AnEmptyRunHasPlaceholdersOrReasons) {
  trace::TraceSet set;
  set.ranks.emplace_back();
  for (const std::string_view name : MetricNames()) {
    const MetricResult result = ComputeMetric(name, {.set = &set});
    const bool is_constant =
        name == "flops_per_token_used" || name == "coll_call_num" || name == "traffic_window";
    EXPECT_TRUE(is_constant || result.is_missing || !result.reason.empty()) << name;
  }
}

// Steps of 100 and 120 µs.
TEST(CclBenchTest, StepTimeIsTheMeanOverRanks) {
  EXPECT_DOUBLE_EQ(ValueOf("avg_step_time", TwoRanks()), 110e-6);
}

// 30/70 and 60/120 of the summed durations; over both ranks 90/190.
TEST(CclBenchTest, SharesOfSummedDurations) {
  EXPECT_DOUBLE_EQ(ValueOf("communication_fraction", TwoRanks()), (30 / 70.0 + 0.5) / 2 * 100);
  EXPECT_DOUBLE_EQ(ValueOf("communication_ratio", TwoRanks()), 90 / 190.0 * 100);
  EXPECT_DOUBLE_EQ(ValueOf("total_kernel_time", TwoRanks()), 190e-6);
  EXPECT_DOUBLE_EQ(ValueOf("dominant_kernel_concentration", TwoRanks()), 100 / 190.0 * 100);
}

// Overlaps 0/30 and 40/60. Unions of all kernels 70 of 80 and 80 of 80.
TEST(CclBenchTest, SharesOfTime) {
  EXPECT_DOUBLE_EQ(ValueOf("compute_comm_overlap", TwoRanks()), 40 / 60.0 * 100 / 2);
  EXPECT_DOUBLE_EQ(ValueOf("communication_overlap_ratio", TwoRanks()), 40 / 60.0 / 2);
  EXPECT_DOUBLE_EQ(ValueOf("total_communication_time", TwoRanks()), 45e-6);
  EXPECT_DOUBLE_EQ(ValueOf("aggregate_gpu_utilization", TwoRanks()), (70 / 80.0 + 1) / 2 * 100);
  EXPECT_DOUBLE_EQ(ValueOf("load_imbalance_ratio", TwoRanks()), 80 / 70.0);
}

// Rank 0 arrives last and has 30 µs of NCCL, rank 1 waits and has 60: (60 − 30)/60.
TEST(CclBenchTest, TheStragglerIsTheRankThatWaits) {
  EXPECT_DOUBLE_EQ(ValueOf("straggler", TwoRanks()), 0.5);
  const trace::TraceSet set = TwoRanks();
  EXPECT_EQ(*ComputeMetric("straggler_metrics", {.set = &set}).detail.Find("max_over_min"),
            Value(2.0));
}

// With four steps the first and the last are dropped: steps 1 and 2 hold 10 and 30 µs of NCCL
// inside the window from 100 to 300.
TEST(CclBenchTest, MoreThanTwoStepsLoseTheirEnds) {
  Rank rank(0);
  for (int step = 0; step < 4; ++step) {
    const std::int64_t at = std::int64_t{100} * step;
    rank.Step(step, {at, at + 100});
    rank.Kernel(kAllReduce, {at + 50, at + 50 + (step == 2 ? 30 : 10)});
  }
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  EXPECT_DOUBLE_EQ(ValueOf("total_communication_time", set), 20e-6);
  EXPECT_DOUBLE_EQ(ValueOf("coll_call_num", set), 4);
}

// A marker must end with its number.
TEST(CclBenchTest, NoMarkersGiveMinusOne) {
  Rank rank(0);
  rank.Annotation("ProfilerStep#1 (again)", {0, 10}).Kernel("gemm", {0, 5});
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  const MetricResult result = ComputeMetric("avg_step_time", {.set = &set});
  EXPECT_EQ(result.value, -1);
  EXPECT_TRUE(result.is_missing);
  EXPECT_EQ(*result.detail.Find("upstream_missing"), Value(true));
}

// F = 6·1000 + 12·2·4·8·16 = 18288 FLOP a token, 4·16 tokens in 110 µs on 2 chips of 312 TFLOP/s:
// 18288·64/110e-6/624e12 = 1.7052e-5, in percent with four digits 0.0017.
TEST(CclBenchTest, MfuIsRoundedToFourDigits) {
  trace::TraceSet set = TwoRanks();
  set.card.emplace();
  set.card->values = {{"workload.model.phase", "training"},
                      {"workload.model.model_arch.num_params", "1000"},
                      {"workload.model.model_arch.num_layers", "2"},
                      {"workload.model.model_arch.num_heads", "8"},
                      {"workload.model.model_arch.head_dim", "4"},
                      {"workload.data.batch_size", "4"},
                      {"workload.data.seq_len", "16"},
                      {"workload.hardware.xpu_spec.model", "nvidia_a100"},
                      {"workload.hardware.xpu_spec.total_count", "2"}};
  EXPECT_DOUBLE_EQ(ValueOf("mfu", set), 0.0017);
}

// Σ min(blocks per SM, 1)·d / Σ d = (0.25·10 + 1·30)/40; the copy has no such argument.
TEST(CclBenchTest, CoverageComesFromTheProfilersArgument) {
  Rank rank(0);
  rank.Kernel("small", {0, 10}).Kernel("large", {10, 40}).Kernel("unknown", {40, 90});
  trace::Trace& trace = rank.trace();
  for (const std::string_view blocks : {"0.25", "7.5"}) {
    const std::string fields = "\"queued\": 0, \"blocks per SM\": " + std::string(blocks);
    const RowId shape = trace.launch_shapes.Append({.extra = trace.strings.Intern(fields)});
    trace.activities.shape[shape] = shape;
  }
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  EXPECT_DOUBLE_EQ(ValueOf("mean_sm_coverage", set), 81.25);
}

// The copy engine is not counted, the copy kernel is: alone from 10 to 20 of the 50 µs of kernels.
TEST(CclBenchTest, TransferOverheadCountsCopyKernelsOnly) {
  Rank rank(0);
  rank.Kernel("gemm", {0, 10}).Kernel("copy_kernel", {5, 20}, 8).Kernel("gemm", {30, 50});
  rank.Copy("Memcpy HtoD (Pinned -> Device)", {20, 30}, 40'000);
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  EXPECT_DOUBLE_EQ(ValueOf("memory_transfer_overhead", set), 20.0);
  EXPECT_DOUBLE_EQ(ValueOf("average_memory_bandwidth", set), 4.0);
  EXPECT_DOUBLE_EQ(ValueOf("memory_bound_fraction", set), 33.3333);
}

// 2²⁷ bytes in 1 ms with 4 ranks: 0.125 GiB · 1.5 / 1 ms.
TEST(CclBenchTest, SizesComeFromTheArgumentsOfKernelsAlone) {
  Rank rank(0);
  const RowId group = rank.Group("0", "[0,1,2,3]", 4);
  rank.Collective({.span = {0, 1000}, .group = group, .bytes = 1 << 27});
  rank.trace().collectives.in_elements[0] = 1 << 26;
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  EXPECT_TRUE(ComputeMetric("bandwidth_utilization_allreduce_group_6", {.set = &set}).is_missing);
  EXPECT_TRUE(ComputeMetric("collective_vol_total_gb", {.set = &set}).is_missing);
  set.ranks[0].collectives.out_elements[0] = 1 << 26;
  EXPECT_DOUBLE_EQ(ValueOf("bandwidth_utilization_allreduce_group_6", set), 187.5);
  EXPECT_DOUBLE_EQ(ValueOf("collective_vol_total_gb", set), 0.134217728);
  EXPECT_DOUBLE_EQ(ValueOf("collective_vol_allgather_gb", set), 0.0);
}

// Two intervals of one link: 1024 KiB in 1 ms = 1.048576 GB/s, then the failed sample (taken for
// 0) and after it 3072 KiB in 1 ms.
TEST(CclBenchTest, AFailedSampleBecomesAHugeInterval) {
  Table counters;
  counters.AddColumn("time_us", Table::Type::kInteger);
  counters.AddColumn("direction", Table::Type::kText);
  counters.AddColumn("link", Table::Type::kInteger);
  counters.AddColumn("kib", Table::Type::kInteger);
  using Cell = Table::Cell;
  for (const auto& [time_us, kib] : {std::pair<std::int64_t, Cell>{1000, Cell(std::int64_t{1024})},
                                     {2000, Cell(std::int64_t{2048})},
                                     {3000, Cell()},
                                     {4000, Cell(std::int64_t{3072})}}) {
    const std::size_t row = counters.AddRow();
    counters.Set(row, 0, time_us);
    counters.Set(row, 1, std::string("tx"));
    counters.Set(row, 2, std::int64_t{0});
    counters.Set(row, 3, kib);
  }
  const trace::TraceSet set;
  const std::vector<Measurement> tables{{.format = "NVF1", .file = "gpu0.bin", .rows = &counters}};
  const ccl_bench::Run run{.set = &set, .measurements = tables};
  EXPECT_DOUBLE_EQ(*ComputeMetric("max_throughput", run).value, 3.145728);
  EXPECT_DOUBLE_EQ(*ComputeMetric("avg_throughput", run).value, 4096 * 1024 * 1e6 / 3000 / 1e9);
  EXPECT_DOUBLE_EQ(*ComputeMetric("total_communication", run).value, 4096 * 1024 / 2.0);
}

// Recordings of nsys: devices are merged, so two halves make a whole.
TEST(CclBenchTest, NsysMergesAllDevices) {
  trace::TraceSet set;
  for (const std::int64_t begin : {0, 50}) {
    Rank rank(0);
    rank.Kernel("gemm", {begin, begin + 50});
    set.ranks.push_back(rank.Finish());
    set.ranks.back().info.format = "nsys SQLite";
  }
  EXPECT_DOUBLE_EQ(ValueOf("aggregate_gpu_utilization", set), 100.0);
  EXPECT_TRUE(ComputeMetric("wall_time_s", {.set = &set}).is_missing);
}

// Two operations with FLOPs: 4e9 in 2 µs. The suite takes µs for ns in the trace time of XLA.
TEST(CclBenchTest, XlaOperationsCarryTheirFlops) {
  Rank rank(0);
  rank.Kernel("fusion.1", {0, 1}).Kernel("all-reduce.2", {1, 4}).Kernel("fusion.3", {4, 5});
  trace::Trace& trace = rank.trace();
  for (const RowId row : {0u, 2u}) {
    trace.activities.extra[row] =
        trace.strings.Intern(R"json("hlo_category": "fusion", "model_flops": "2000000000")json");
  }
  trace.info.format = "XLA Chrome JSON";
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  EXPECT_DOUBLE_EQ(ValueOf("total_model_flops_from_args", set), 4e9);
  EXPECT_DOUBLE_EQ(ValueOf("achieved_flops_from_trace_json", set), 2e15);
  EXPECT_DOUBLE_EQ(ValueOf("total_trace_time", set), 5e-9);
  EXPECT_DOUBLE_EQ(ValueOf("communication_fraction", set), 60.0);
  EXPECT_DOUBLE_EQ(ValueOf("comm_kernel_breakdown_tpu", set), 3.0);
  EXPECT_DOUBLE_EQ(ValueOf("dominant_kernel_concentration", set), 100.0) << "of categories";
  EXPECT_TRUE(ComputeMetric("moe_fraction", {.set = &set}).is_missing);
}

TEST(RoundedTest, RoundsTheExactValueAsPythonDoes) {
  EXPECT_EQ(Rounded(0.125, 2), 0.12);
  EXPECT_EQ(Rounded(0.375, 2), 0.38);
  EXPECT_EQ(Rounded(2.675, 2), 2.67);
  EXPECT_EQ(Rounded(-1.00005, 4), -1.0001);
}

}  // namespace
}  // namespace orrery::compat::ccl_bench
