#include "orrery/analyze/ccl_bench/compat.h"

#include <algorithm>
#include <array>
#include <cctype>

#include "orrery/analyze/ccl_bench/chrome_metrics.h"
#include "orrery/analyze/ccl_bench/collective_metrics.h"
#include "orrery/analyze/ccl_bench/communication_metrics.h"
#include "orrery/analyze/ccl_bench/kernel_metrics.h"
#include "orrery/analyze/ccl_bench/kernel_rows.h"
#include "orrery/analyze/ccl_bench/measured_tables.h"
#include "orrery/analyze/ccl_bench/memory_metrics.h"
#include "orrery/analyze/ccl_bench/nccl_metrics.h"
#include "orrery/analyze/ccl_bench/nvlink_metrics.h"
#include "orrery/analyze/ccl_bench/outcome.h"
#include "orrery/analyze/ccl_bench/peer_to_peer.h"
#include "orrery/analyze/ccl_bench/step_metrics.h"
#include "orrery/trace/enums.h"

namespace orrery::analyze::ccl_bench {
namespace {

using enum trace::CollectiveKind;

struct Entry {
  std::string_view name;
  std::string_view unit;
  CompatResult (*compute)(const CompatRun& run);
  bool reads_xla = true;  // else the suite says -1 for files of XLA
};

CompatResult ScaleUpBandwidthUtility(const CompatRun& /*run*/) {
  return NeedsTool("Astra-sim");
}

constexpr auto kEntries = std::to_array<Entry>({
    {"wall_time_s", "s", &WallTime},
    {"total_compute_time_s", "s", &TotalComputeTime},
    {"total_comm_time_s", "s", &TotalCommTime},
    {"avg_comm_kernel_time_s", "s", &AvgCommKernelTime},
    {"allreduce_comm_time_s", "s", &AllReduceCommTime},
    {"compute_utilization_proxy", "", &ComputeUtilizationProxy},
    {"num_comm_kernels", "", &NumCommKernels},
    {"avg_comm_bandwidth_GBps", "GB/s", &AvgCommBandwidth},
    {"hockney_alpha_s", "s", &HockneyAlpha},
    {"hockney_beta_s_per_byte", "s/B", &HockneyBeta},
    {"hockney_inverse_beta_Bps", "B/s", &HockneyInverseBeta},
    {"achieved_flops_from_trace_json", "FLOP/s", &AchievedFlops},
    {"total_model_flops_from_args", "FLOP", &TotalModelFlops},
    {"throughput", "tokens/s", &EstimatedThroughput},
    {"estimated_throughput_tokens_per_s", "tokens/s", &EstimatedThroughput},
    {"flops_per_token_used", "FLOP", &FlopsPerTokenUsed},
    {"estimated_total_tokens", "tokens", &EstimatedTotalTokens},
    {"coll_call_num", "", &CollCallNum},
    {"mfu", "%", &Mfu},
    {"avg_step_time", "s", &AvgStepTime},
    {"ttft", "s", &Ttft},
    {"tpot", "s", &Tpot},
    {"communication_ratio", "%", &CommunicationRatio, false},
    {"total_trace_time", "s", &TotalTraceTime},
    {"total_kernel_time", "s", &TotalKernelTime, false},
    {"total_communication_time", "s", &TotalCommunicationTime},
    {"break_down_steps", "%", &BreakDownSteps},
    {"communication_fraction", "%", &CommunicationFraction},
    {"moe_fraction", "%", &MoeFraction, false},
    {"dominant_kernel_concentration", "%", &DominantKernelConcentration},
    {"aggregate_gpu_utilization", "%", &AggregateGpuUtilization, false},
    {"mean_sm_coverage", "%", &MeanSmCoverage, false},
    {"memory_transfer_overhead", "%", &MemoryTransferOverhead},
    {"average_memory_bandwidth", "GB/s", &AverageMemoryBandwidth},
    {"memory_bound_fraction", "%", &MemoryBoundFraction},
    {"load_imbalance_ratio", "", &LoadImbalanceRatio, false},
    {"communication_overlap_ratio", "", &CommunicationOverlapRatio, false},
    {"compute_comm_overlap", "%", &ComputeCommOverlap},
    {"ttft_group_6", "ms", &ServingMedianTtft},
    {"tpot_group_6", "ms", &ServingMedianTpot},
    {"bandwidth_utilization_allgather_group_6", "GiB/s", &BandwidthOfKind<kAllGather>},
    {"bandwidth_utilization_allreduce_group_6", "GiB/s", &BandwidthOfKind<kAllReduce>},
    {"bandwidth_utilization_alltoall_group_6", "GiB/s", &BandwidthOfKind<kAllToAll>},
    {"bandwidth_utilization_reducescatter_group_6", "GiB/s", &BandwidthOfKind<kReduceScatter>},
    {"bandwidth_utilization_peertopeer_group_6", "%", &PeerToPeerBandwidth},
    {"kernel_compute_time_group_6", "s", &KernelComputeTimeGroup6},
    {"throughput_group_6", "tokens/s", &ServingThroughput},
    {"straggler", "", &Straggler},
    {"straggler_metrics", "", &StragglerMetrics},
    {"comm_kernel_breakdown_tpu", "µs", &CommKernelBreakdownTpu},
    {"estimated_bandwidth", "GB/s", &EstimatedBandwidth},
    {"traffic_window", "s", &TrafficWindow},
    {"communication_overhead", "", &CommunicationOverhead},
    {"bandwidth_utilization", "", &BandwidthUtilization},
    {"gpu_step_score", "", &GpuStepScore},
    {"scale_up_bw_utility", "%", &ScaleUpBandwidthUtility},
    {"collective_vol_allreduce_gb", "GB", &VolumeOfKind<kAllReduce>},
    {"collective_vol_allgather_gb", "GB", &VolumeOfKind<kAllGather>},
    {"collective_vol_reducescatter_gb", "GB", &VolumeOfKind<kReduceScatter>},
    {"collective_vol_alltoall_gb", "GB", &VolumeOfKind<kAllToAll>},
    {"collective_vol_total_gb", "GB", &VolumeOfKind<kUnknown>},
    {"nvlink_all", "GB/s", &NvlinkAll},
    {"max_throughput", "GB/s", &MaxThroughput},
    {"avg_throughput", "GB/s", &AvgThroughput},
    {"total_communication", "B", &TotalCommunication},
    {"peak_kernels", "GB/s", &PeakKernels},
});

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::vector<std::string_view> AllCompatNames() {
  std::vector<std::string_view> names;
  for (const Entry& entry : kEntries) {
    names.push_back(entry.name);
  }
  return names;
}

CompatResult ComputeCompat(std::string_view name, const CompatRun& run) {
  const auto* const entry = std::ranges::find_if(
      kEntries, [&](const Entry& known) { return SameName(known.name, name); });
  if (entry == kEntries.end()) {
    return {.reason = "ccl-bench has no such metric"};
  }
  const bool is_blind = !entry->reads_xla && SourceOf(run) == Source::kXla;
  CompatResult result = is_blind ? StandIn() : entry->compute(run);
  result.unit = entry->unit;
  if (result.is_missing) {
    result.detail.Set("upstream_missing", true);
  }
  return result;
}

}  // namespace orrery::analyze::ccl_bench
