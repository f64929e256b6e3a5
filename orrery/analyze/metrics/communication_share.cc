#include <map>
#include <string>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/collective_names.h"

namespace orrery::analyze::communication_share {
namespace {

MetricResult CommunicationRatio(const RunView& run) {
  MetricResult result =
      MeanRatio(run, &Breakdown::communication_sum_ns, &Breakdown::kernel_sum_ns, 100);
  result.detail.Set("note", "a share of summed durations, not of time: waiting counts as work");
  return result;
}

struct Times {
  std::vector<double> durations;  // of every member, in µs
  std::vector<double> transfers;  // of every collective
};

void AddDurations(const RunView& run, const CollectiveRecord& record, Times& times) {
  times.transfers.push_back(static_cast<double>(record.transfer_ns) / 1e3);
  if (!record.is_matched) {
    times.durations.push_back(times.transfers.back());
    return;
  }
  const auto& members = run.matched.members;
  for (const std::uint32_t member : run.matched.MembersOf(record.instance)) {
    times.durations.push_back(
        static_cast<double>(members.end_ns[member] - members.begin_ns[member]) / 1e3);
  }
}

double Sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

MetricResult CommKernelBreakdown(const RunView& run) {
  std::map<std::string, Times> by_kind;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    AddDurations(run, record, by_kind[std::string(trace::CollectiveKindName(record.kind))]);
  }
  if (by_kind.empty()) {
    return NotAvailable(kNoCommunicationReason);
  }
  double total_us = 0;
  Value rows = Value::List();
  for (const auto& [kind, times] : by_kind) {
    total_us += Sum(times.durations);
    rows.Add(Value::Object()
                 .Set("kind", kind)
                 .Set("count", times.transfers.size())
                 .Set("total_us", Sum(times.durations))
                 .Set("mean_us", Mean(times.durations))
                 .Set("p50_us", Quantile(times.durations, 0.5))
                 .Set("p95_us", Quantile(times.durations, 0.95))
                 .Set("transfer_total_us", Sum(times.transfers))
                 .Set("transfer_p50_us", Quantile(times.transfers, 0.5))
                 .Set("transfer_p95_us", Quantile(times.transfers, 0.95)));
  }
  MetricResult result{.value = total_us / 1e6};
  result.detail.Set("per_kind", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "communication_fraction",
       .meaning = "Share of the step in which a communication kernel runs",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "100 * union of communication kernels / window; per device, then the "
                     "mean. ccl-bench: a share of summed durations",
       .compute =
           [](const RunView& run) {
             return MeanRatio(run, &Breakdown::communication_ns, &Breakdown::window_ns, 100);
           }},
      {.name = "communication_ratio",
       .meaning = "Summed communication kernels / summed kernels (kept because papers quote it)",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "100 * sum of durations of communication kernels / sum of all kernels; per "
                     "device, then the mean",
       .compute = &CommunicationRatio},
      {.name = "communication_overhead",
       .meaning = "Share of the step in which communication runs and no compute",
       .needs = {{NeedKind::kGpu}},
       .definition = "(Union of communication kernels without that of compute kernels) / "
                     "window; per device, then the mean",
       .compute =
           [](const RunView& run) {
             return MeanRatio(run, &Breakdown::exposed_communication_ns, &Breakdown::window_ns);
           },
       .better = Better::kLower},
      {.name = "comm_comp_overlap",
       .meaning = "Share of the communication time that compute hides",
       .unit = "%",
       .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
       .definition = "100 * (union of communication kernels and union of compute kernels, "
                     "common part) / union of communication kernels; per device, then the mean",
       .compute =
           [](const RunView& run) {
             return MeanRatio(run, &Breakdown::hidden_communication_ns,
                              &Breakdown::communication_ns, 100);
           },
       .aliases = {{.name = "compute_comm_overlap"},
                   {.name = "communication_overlap_ratio", .scale = 0.01, .unit = ""}},
       .better = Better::kHigher},
      {.name = "comm_kernel_breakdown",
       .meaning = "Communication by kind: durations of all ranks and transfer times",
       .unit = "s",
       .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
       .definition = "Per kind count, total, mean, p50, p95 of durations and of the shortest "
                     "duration over ranks; the number is the total",
       .compute = &CommKernelBreakdown,
       .aliases = {{.name = "comm_kernel_breakdown_tpu"}}}};
}

}  // namespace orrery::analyze::communication_share
