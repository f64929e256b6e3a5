#include "orrery/compat/ccl_bench/compat.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/card_fields.h"
#include "orrery/base/interval_set.h"
#include "orrery/base/text.h"
#include "orrery/compat/ccl_bench/chrome_metrics.h"
#include "orrery/compat/ccl_bench/collective_metrics.h"
#include "orrery/compat/ccl_bench/communication_metrics.h"
#include "orrery/compat/ccl_bench/kernel_metrics.h"
#include "orrery/compat/ccl_bench/kernel_rows.h"
#include "orrery/compat/ccl_bench/measured_tables.h"
#include "orrery/compat/ccl_bench/memory_metrics.h"
#include "orrery/compat/ccl_bench/model_family.h"
#include "orrery/compat/ccl_bench/name_words.h"
#include "orrery/compat/ccl_bench/nccl_metrics.h"
#include "orrery/compat/ccl_bench/nvlink_metrics.h"
#include "orrery/compat/ccl_bench/outcome.h"
#include "orrery/compat/ccl_bench/step_metrics.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {
namespace {

using enum trace::CollectiveKind;

using trace::Trace;

bool IsNvlinkSent(std::string_view name) {
  return name.starts_with("NVLink TX Responses User Data");
}

bool IsPcieSent(std::string_view name) {
  return name.starts_with("PCIe TX");
}

bool IsModelStart(std::string_view name) {
  return HasWord(name, {"model.model"});
}

bool IsModelEnd(std::string_view name) {
  return HasWord(name, {"logits_processor"});
}

// From where the model begins to where its logits are processed.
IntervalSet ModelWindows(const Trace& trace) {
  NameMemo is_start(trace, &IsModelStart);
  NameMemo is_end(trace, &IsModelEnd);
  IntervalSet windows;
  std::optional<std::int64_t> begin_ns;
  for (RowId row = 0; row < trace.annotations.size(); ++row) {
    const std::int64_t at_ns = trace.annotations.begin_ns[row];
    if (is_end(trace.annotations.name[row])) {
      windows.Append(begin_ns.value_or(at_ns), at_ns);
      begin_ns.reset();
    } else if (is_start(trace.annotations.name[row]) && !begin_ns) {
      begin_ns = at_ns;
    }
  }
  return windows;
}

void AddSamples(const Trace& trace, NameTest is_counter, std::vector<double>& percents) {
  const IntervalSet windows = ModelWindows(trace);
  NameMemo is_wanted(trace, is_counter);
  for (RowId row = 0; row < trace.counters.size(); ++row) {
    const std::int64_t at_ns = trace.counters.begin_ns[row];
    if (trace.counters.value[row] != 0 && is_wanted(trace.counters.name[row]) &&
        windows.LengthWithin(at_ns, at_ns + 1) > 0) {
      percents.push_back(trace.counters.value[row]);
    }
  }
}

using analyze::CardParallelSize;


// `bandwidth_utilization_peertopeer_group_6`: link counters of nsys while the model runs.
CompatResult PeerToPeerBandwidth(const CompatRun& run) {
  const auto family = FamilyOfGroup6(run);
  if (SourceOf(run) != Source::kNsys || !family || CardParallelSize(*run.set, "pp") <= 1) {
    return NotANumber();
  }
  std::vector<double> percents;
  for (const Trace& trace : run.set->ranks) {
    AddSamples(trace, IsPcieFamily(*family) ? &IsPcieSent : &IsNvlinkSent, percents);
  }
  return NumberOrNaN(PlainMean(percents));
}

// Which recordings a tool can read, and what it says of all others.
enum class Reads : std::uint8_t { kAll, kJson, kJsonAndNsys, kJsonAndXla };
enum class Otherwise : std::uint8_t { kMinusOne, kZero, kNaN, kFails };

struct Entry {
  std::string_view name;
  std::string_view unit;
  CompatResult (*compute)(const CompatRun& run);
  Reads reads = Reads::kAll;
  Otherwise otherwise = Otherwise::kMinusOne;
};

bool CanRead(Reads reads, Source source) {
  switch (reads) {
    case Reads::kAll:
      return true;
    case Reads::kJson:
      return source == Source::kJson;
    case Reads::kJsonAndNsys:
      return source != Source::kXla;
    case Reads::kJsonAndXla:
      return source != Source::kNsys;
  }
  return true;
}

CompatResult Unread(Otherwise otherwise) {
  switch (otherwise) {
    case Otherwise::kMinusOne:
      return StandIn();
    case Otherwise::kZero:
      return StandIn(0.0);
    case Otherwise::kNaN:
      return NotANumber();
    case Otherwise::kFails:
      return Fails("it reads Kineto JSON only");
  }
  return StandIn();
}

CompatResult ScaleUpBandwidthUtility(const CompatRun& /*run*/) {
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
    {"bandwidth_utilization_allgather_group_6", "GiB/s", &BandwidthOfKind<kAllGather>, Reads::kJson,
     Otherwise::kNaN},
    {"bandwidth_utilization_allreduce_group_6", "GiB/s", &BandwidthOfKind<kAllReduce>, Reads::kJson,
     Otherwise::kNaN},
    {"bandwidth_utilization_alltoall_group_6", "GiB/s", &BandwidthOfKind<kAllToAll>, Reads::kJson,
     Otherwise::kNaN},
    {"bandwidth_utilization_reducescatter_group_6", "GiB/s", &BandwidthOfKind<kReduceScatter>,
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
    {"collective_vol_allreduce_gb", "GB", &VolumeOfKind<kAllReduce>, Reads::kJsonAndXla},
    {"collective_vol_allgather_gb", "GB", &VolumeOfKind<kAllGather>, Reads::kJsonAndXla},
    {"collective_vol_reducescatter_gb", "GB", &VolumeOfKind<kReduceScatter>, Reads::kJsonAndXla},
    {"collective_vol_alltoall_gb", "GB", &VolumeOfKind<kAllToAll>, Reads::kJsonAndXla},
    {"collective_vol_total_gb", "GB", &VolumeOfKind<kUnknown>, Reads::kJsonAndXla},
    {"nvlink_all", "GB/s", &NvlinkAll},
    {"max_throughput", "GB/s", &MaxThroughput},
    {"avg_throughput", "GB/s", &AvgThroughput},
    {"total_communication", "B", &TotalCommunication},
    {"peak_kernels", "GB/s", &PeakKernels},
});

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
      kEntries, [&](const Entry& known) { return SameIgnoringCase(known.name, name); });
  if (entry == kEntries.end()) {
    return {.reason = "ccl-bench has no such metric"};
  }
  CompatResult result =
      CanRead(entry->reads, SourceOf(run)) ? entry->compute(run) : Unread(entry->otherwise);
  result.unit = entry->unit;
  if (result.is_missing) {
    result.detail.Set("upstream_missing", true);
  }
  return result;
}

}  // namespace orrery::compat::ccl_bench
