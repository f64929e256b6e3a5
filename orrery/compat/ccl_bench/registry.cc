#include "orrery/compat/ccl_bench/registry.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/collective_kind.h"
#include "orrery/base/text/text.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/metrics.h"

namespace orrery::compat::ccl_bench {
namespace {

using enum CollectiveKind;

// The recordings that a tool of the suite can read, and its result for all others.
enum class Reads : std::uint8_t { kAll, kJson, kJsonAndNsys, kJsonAndXla };
enum class Otherwise : std::uint8_t { kMinusOne, kZero, kNaN, kFails };

struct Entry {
  std::string_view name;
  std::string_view unit;
  Metric* compute;
  Reads reads = Reads::kAll;
  Otherwise otherwise = Otherwise::kMinusOne;
};

bool CanRead(Reads reads, Source source) {
  return source == Source::kJson || reads == Reads::kAll ||
         (source == Source::kNsys && reads == Reads::kJsonAndNsys) ||
         (source == Source::kXla && reads == Reads::kJsonAndXla);
}

MetricResult UnreadableResult(Otherwise otherwise) {
  switch (otherwise) {
    case Otherwise::kMinusOne:
      return Placeholder();
    case Otherwise::kZero:
      return Placeholder(0.0);
    case Otherwise::kNaN:
      return NotANumber();
    case Otherwise::kFails:
      return Fails("it reads Kineto JSON only");
  }
  return Placeholder();
}

template <CollectiveKind kind>
MetricResult Bandwidth(const Run& run) {
  return BandwidthOfKind(run, kind);
}

template <CollectiveKind kind>
MetricResult Volume(const Run& run) {
  return VolumeOfKind(run, kind);
}

MetricResult ScaleUpBandwidthUtility(const Run& /*run*/) {
  return NeedsTool("Astra-sim");
}

constexpr auto kEntries = std::to_array<Entry>({
    {"wall_time_s", "s", &WallTime, Reads::kJsonAndXla, Otherwise::kNaN},
    {"total_compute_time_s", "s", &TotalComputeTime, Reads::kJsonAndXla, Otherwise::kZero},
    {"total_comm_time_s", "s", &TotalCommTime, Reads::kJsonAndXla, Otherwise::kZero},
    {"avg_comm_kernel_time_s", "s", &AvgCommKernelTime, Reads::kJsonAndXla, Otherwise::kNaN},
    {"allreduce_comm_time_s", "s", &AllReduceCommTime, Reads::kJsonAndXla, Otherwise::kNaN},
    {"compute_utilization_proxy", "", &ComputeUtilizationProxy, Reads::kJsonAndXla,
     Otherwise::kNaN},
    {"num_comm_kernels", "", &NumCommKernels, Reads::kJsonAndXla, Otherwise::kFails},
    {"avg_comm_bandwidth_GBps", "GB/s", &AvgCommBandwidth, Reads::kJsonAndXla, Otherwise::kNaN},
    {"hockney_alpha_s", "s", &HockneyAlpha, Reads::kJsonAndXla, Otherwise::kNaN},
    {"hockney_beta_s_per_byte", "s/B", &HockneyBeta, Reads::kJsonAndXla, Otherwise::kNaN},
    {"hockney_inverse_beta_Bps", "B/s", &HockneyInverseBeta, Reads::kJsonAndXla, Otherwise::kNaN},
    {"achieved_flops_from_trace_json", "FLOP/s", &AchievedFlops, Reads::kJsonAndXla,
     Otherwise::kNaN},
    {"total_model_flops_from_args", "FLOP", &TotalModelFlops, Reads::kJsonAndXla, Otherwise::kZero},
    {"throughput", "tokens/s", &EstimatedThroughput, Reads::kJsonAndXla, Otherwise::kZero},
    {"estimated_throughput_tokens_per_s", "tokens/s", &EstimatedThroughput, Reads::kJsonAndXla,
     Otherwise::kZero},
    {"flops_per_token_used", "FLOP", &FlopsPerTokenUsed},
    {"estimated_total_tokens", "tokens", &EstimatedTotalTokens, Reads::kJsonAndXla,
     Otherwise::kZero},
    {"coll_call_num", "", &CollCallNum, Reads::kJson, Otherwise::kZero},
    {"mfu", "%", &Mfu, Reads::kJsonAndXla},
    {"avg_step_time", "s", &AvgStepTime, Reads::kJsonAndXla},
    {"ttft", "s", &Ttft, Reads::kJsonAndXla},
    {"tpot", "s", &Tpot, Reads::kJsonAndXla},
    {"communication_ratio", "%", &CommunicationRatio, Reads::kJsonAndNsys},
    {"total_trace_time", "s", &TotalTraceTime},
    {"total_kernel_time", "s", &TotalKernelTime, Reads::kJsonAndNsys},
    {"total_communication_time", "s", &TotalCommunicationTime},
    {"break_down_steps", "%", &BreakDownSteps},
    {"communication_fraction", "%", &CommunicationFraction},
    {"moe_fraction", "%", &MoeFraction, Reads::kJsonAndNsys},
    {"dominant_kernel_concentration", "%", &DominantKernelConcentration},
    {"aggregate_gpu_utilization", "%", &AggregateGpuUtilization, Reads::kJsonAndNsys},
    {"mean_sm_coverage", "%", &MeanSmCoverage, Reads::kJsonAndNsys},
    {"memory_transfer_overhead", "%", &MemoryTransferOverhead},
    {"average_memory_bandwidth", "GB/s", &AverageMemoryBandwidth},
    {"memory_bound_fraction", "%", &MemoryBoundFraction},
    {"load_imbalance_ratio", "", &LoadImbalanceRatio, Reads::kJsonAndNsys},
    {"communication_overlap_ratio", "", &CommunicationOverlapRatio, Reads::kJsonAndNsys},
    {"compute_comm_overlap", "%", &ComputeCommOverlap},
    {"ttft_group_6", "ms", &ServingMedianTtft},
    {"tpot_group_6", "ms", &ServingMedianTpot},
    {"bandwidth_utilization_allgather_group_6", "GiB/s", &Bandwidth<kAllGather>, Reads::kJson,
     Otherwise::kNaN},
    {"bandwidth_utilization_allreduce_group_6", "GiB/s", &Bandwidth<kAllReduce>, Reads::kJson,
     Otherwise::kNaN},
    {"bandwidth_utilization_alltoall_group_6", "GiB/s", &Bandwidth<kAllToAll>, Reads::kJson,
     Otherwise::kNaN},
    {"bandwidth_utilization_reducescatter_group_6", "GiB/s", &Bandwidth<kReduceScatter>,
     Reads::kJson, Otherwise::kNaN},
    {"bandwidth_utilization_peertopeer_group_6", "%", &PeerToPeerBandwidth},
    {"kernel_compute_time_group_6", "s", &KernelComputeTimeGroup6},
    {"throughput_group_6", "tokens/s", &ServingThroughput},
    {"straggler", "", &Straggler, Reads::kJson, Otherwise::kZero},
    {"straggler_metrics", "", &StragglerMetrics, Reads::kJson, Otherwise::kZero},
    {"comm_kernel_breakdown_tpu", "µs", &CommKernelBreakdownTpu},
    {"estimated_bandwidth", "GB/s", &EstimatedBandwidth, Reads::kJsonAndXla, Otherwise::kNaN},
    {"traffic_window", "s", &TrafficWindow, Reads::kJson, Otherwise::kFails},
    {"communication_overhead", "", &CommunicationOverhead, Reads::kJson, Otherwise::kFails},
    {"bandwidth_utilization", "", &BandwidthUtilization, Reads::kJson, Otherwise::kFails},
    {"gpu_step_score", "", &GpuStepScore, Reads::kJsonAndXla},
    {"scale_up_bw_utility", "%", &ScaleUpBandwidthUtility},
    {"collective_vol_allreduce_gb", "GB", &Volume<kAllReduce>, Reads::kJsonAndXla},
    {"collective_vol_allgather_gb", "GB", &Volume<kAllGather>, Reads::kJsonAndXla},
    {"collective_vol_reducescatter_gb", "GB", &Volume<kReduceScatter>, Reads::kJsonAndXla},
    {"collective_vol_alltoall_gb", "GB", &Volume<kAllToAll>, Reads::kJsonAndXla},
    {"collective_vol_total_gb", "GB", &Volume<kUnknown>, Reads::kJsonAndXla},
    {"nvlink_all", "GB/s", &NvlinkAll},
    {"max_throughput", "GB/s", &MaxThroughput},
    {"avg_throughput", "GB/s", &AvgThroughput},
    {"total_communication", "B", &TotalCommunication},
    {"peak_kernels", "GB/s", &PeakKernels},
});

}  // namespace

std::vector<std::string_view> MetricNames() {
  std::vector<std::string_view> names(kEntries.size());
  std::ranges::transform(kEntries, names.begin(), &Entry::name);
  return names;
}

MetricResult ComputeMetric(std::string_view name, const Run& run) {
  const auto* const entry = std::ranges::find_if(
      kEntries, [&](const Entry& known) { return SameIgnoringCase(known.name, name); });
  if (entry == kEntries.end()) {
    return {.reason = "ccl-bench has no such metric"};
  }
  MetricResult result = CanRead(entry->reads, SourceOf(run)) ? entry->compute(run)
                                                             : UnreadableResult(entry->otherwise);
  result.unit = entry->unit;
  if (result.is_missing) {
    result.detail.Set("upstream_missing", true);
  }
  return result;
}

}  // namespace orrery::compat::ccl_bench
