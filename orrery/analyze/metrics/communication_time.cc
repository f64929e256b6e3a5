#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <numeric>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/math/statistics.h"
#include "orrery/trace/collective/collective_names.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze::communication_time {
namespace {

// Operations of a device: those the trace lists, else its communication kernels.
struct Operations {
  std::map<std::string, std::int64_t> by_kind;
  std::int64_t count = 0;
};

Operations FromKernels(const RunView& run, const DeviceView& device) {
  Operations operations;
  const trace::Trace& trace = run.TraceOf(device);
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) == trace::KernelClass::kCommunication &&
        run.IsSelected(device.rank_index, trace.activities.begin_ns[row])) {
      const auto kernel =
          trace::ClassifyCommunicationKernel(trace.Text(trace.activities.name[row]));
      const auto kind = kernel ? kernel->kind : CollectiveKind::kUnknown;
      ++operations.by_kind[std::string(CollectiveKindName(kind))];
      ++operations.count;
    }
  }
  return operations;
}

// Several calls that one kernel served are one operation.
Operations OperationsOf(const RunView& run, const DeviceView& device) {
  Operations operations;
  const trace::Trace& trace = run.TraceOf(device);
  RowId previous = kNoRow;
  ForEachCollective(run, device, [&](RowId row) {
    const trace::Collectives& table = trace.collectives;
    const bool is_fused = previous != kNoRow && AreServedTogether(table, previous, row);
    previous = row;
    if (!is_fused) {
      ++operations.by_kind[std::string(CollectiveKindName(table.kind[row]))];
      ++operations.count;
    }
  });
  return operations.count > 0 ? operations : FromKernels(run, device);
}

MetricResult CollCallNum(const RunView& run) {
  const DeviceView& first = run.devices.front();
  const Operations operations = OperationsOf(run, first);
  std::vector<double> counts;
  for (const DeviceView& device : run.devices) {
    counts.push_back(static_cast<double>(OperationsOf(run, device).count) /
                     static_cast<double>(NumSteps(device)));
  }
  MetricResult result{.value = counts.front()};
  result.detail.Set("rank", static_cast<std::int64_t>(first.rank));
  NoteScope(run, result.detail);
  Value kinds = Value::Object();
  for (const auto& [kind, count] : operations.by_kind) {
    kinds.Set(kind, static_cast<double>(count) / static_cast<double>(NumSteps(first)));
  }
  result.detail.Set("per_kind", std::move(kinds));
  result.detail.Set("calls_without_kernel",
                    std::ranges::count(run.TraceOf(first).collectives.num_kernels, 0));
  result.detail.Set("mean_over_ranks", Mean(counts));
  return result;
}

void AddExposures(const DeviceView& device, const std::vector<CommunicationPart>& parts,
                  const std::vector<std::size_t>& key_of_part, std::vector<Exposure>& sums) {
  const std::vector<Exposure> exposures =
      SplitExposure(device.compute, parts, key_of_part, sums.size());
  for (std::size_t i = 0; i < sums.size(); ++i) {
    sums[i].busy_ns += exposures[i].busy_ns;
    sums[i].hidden_ns += exposures[i].hidden_ns;
    sums[i].exclusive_ns += exposures[i].exclusive_ns;
    sums[i].shared_ns += exposures[i].shared_ns;
    sums[i].shared_wait_ns += exposures[i].shared_wait_ns;
    sums[i].shared_transfer_ns += exposures[i].shared_transfer_ns;
  }
}

// Per device and step, in µs.
Value RowOf(std::string_view key, const std::string& name, const Exposure& exposure, double scale) {
  return Value::Object()
      .Set(key, name)
      .Set("exposed_us", exposure.shared_ns * scale)
      .Set("waiting_us", exposure.shared_wait_ns * scale)
      .Set("transfer_us", exposure.shared_transfer_ns * scale)
      .Set("exclusive_us", static_cast<double>(exposure.exclusive_ns) * scale)
      .Set("overlap_percent",
           exposure.busy_ns == 0 ? Value() : Value(*Percent(exposure.hidden_ns, exposure.busy_ns)));
}

std::string GroupName(const RunView& run, std::size_t group) {
  if (group == run.matched.groups.size()) {
    return "unmatched";
  }
  const std::string& key = run.matched.groups[group].key;
  return key.empty() ? "(not named)" : key;
}

MetricResult ExposedCommTime(const RunView& run) {
  MetricResult result = MeanSecondsPerStep(run, &Breakdown::exposed_communication_ns);
  const std::size_t num_groups = run.matched.groups.size() + 1;
  std::vector<Exposure> by_dimension(kNumDimensions);
  std::vector<Exposure> by_group(num_groups);
  for (const DeviceView& device : run.devices) {
    const std::vector<CommunicationPart> parts = CommunicationParts(run, device);
    std::vector<std::size_t> dimensions;
    std::vector<std::size_t> groups;
    for (const CommunicationPart& part : parts) {
      dimensions.push_back(static_cast<std::size_t>(part.dimension));
      groups.push_back(std::min<std::size_t>(part.group, num_groups - 1));
    }
    AddExposures(device, parts, dimensions, by_dimension);
    AddExposures(device, parts, groups, by_group);
  }
  const double scale =
      1e-3 / static_cast<double>(run.devices.size()) / static_cast<double>(NumSteps(run));
  const auto rows = [&](std::string_view key, const std::vector<Exposure>& exposures) {
    Value list = Value::List();
    for (std::size_t i = 0; i < exposures.size(); ++i) {
      if (exposures[i].busy_ns > 0) {
        const std::string name = key == "group"
                                     ? GroupName(run, i)
                                     : std::string(DimensionName(static_cast<Dimension>(i)));
        list.Add(RowOf(key, name, exposures[i], scale));
      }
    }
    return list;
  };
  result.detail.Set("per_dimension", rows("dimension", by_dimension));
  result.detail.Set("per_group", rows("group", by_group));
  return result;
}

struct RankTime {
  std::int64_t wait_ns = 0;
  std::int64_t duration_ns = 0;
};

MetricResult CommWaitFraction(const RunView& run) {
  std::map<std::int32_t, RankTime> by_rank;
  RankTime all;
  std::int64_t transfers_ns = 0;
  std::int64_t num_collectives = 0;
  const auto& members = run.matched.members;
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (!run.Counts(instance)) {
      continue;
    }
    ++num_collectives;
    transfers_ns += run.waits.transfer_ns[instance];
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      const std::int64_t duration_ns = members.end_ns[member] - members.begin_ns[member];
      RankTime& rank = by_rank[trace::RankOf(*run.set, members.rank_index[member])];
      rank.wait_ns += run.waits.wait_ns[member];
      rank.duration_ns += duration_ns;
      all.wait_ns += run.waits.wait_ns[member];
      all.duration_ns += duration_ns;
    }
  }
  if (all.duration_ns == 0) {
    return NotAvailable(kNoMatchReason);
  }
  MetricResult result{.value = Percent(all.wait_ns, all.duration_ns)};
  result.detail.Set("collectives", num_collectives);
  result.detail.Set("left_out_as_doubtful", run.waits.num_doubtful);
  result.detail.Set("wait_s", Seconds(all.wait_ns));
  result.detail.Set("duration_s", Seconds(all.duration_ns));
  result.detail.Set("sum_of_minimum_durations_s", Seconds(transfers_ns));
  Value rows = Value::List();
  for (const auto& [rank, time] : by_rank) {
    rows.Add(Value::Object()
                 .Set("rank", static_cast<std::int64_t>(rank))
                 .Set("wait_us", static_cast<double>(time.wait_ns) / 1e3)
                 .Set("transfer_us", static_cast<double>(time.duration_ns - time.wait_ns) / 1e3)
                 .Set("duration_us", static_cast<double>(time.duration_ns) / 1e3));
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

MetricResult AvgCommKernelTimeS(const RunView& run) {
  std::vector<double> seconds;
  bool all_matched = true;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    seconds.push_back(static_cast<double>(record.transfer_ns) / 1e9);
    all_matched &= record.is_matched;
  }
  if (seconds.empty()) {
    return NotAvailable(kNoCommunicationReason);
  }
  MetricResult result{.value = Mean(seconds)};
  result.detail.Set("collectives", seconds.size());
  if (!all_matched) {
    result.detail.Set("bound", "upper");
  }
  return result;
}

MetricResult AllreduceCommTimeS(const RunView& run) {
  std::int64_t total_ns = 0;
  std::int64_t count = 0;
  bool all_matched = true;
  for (const CollectiveRecord& record : CollectiveRecords(run)) {
    if (record.kind == CollectiveKind::kAllReduce) {
      total_ns += record.transfer_ns;
      all_matched &= record.is_matched;
      ++count;
    }
  }
  MetricResult result{.value = Seconds(total_ns) / static_cast<double>(NumSteps(run))};
  result.detail.Set("collectives", count);
  if (!all_matched) {
    result.detail.Set("bound", "upper");
  }
  return result;
}

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
    AddDurations(run, record, by_kind[std::string(CollectiveKindName(record.kind))]);
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
      {"coll_call_num", "Communication operations of one rank in a step", "", &CollCallNum,
       Better::kNeither, "GPU activity",
       Alias("num_comm_kernels", "ccl-bench counts rows of the whole file by name")},
      {"total_communication_time",
       "Time per step in which a communication kernel runs, waiting included", "s",
       [](const RunView& run) { return MeanSecondsPerStep(run, &Breakdown::communication_ns); },
       Better::kLower, "GPU activity",
       Alias("total_comm_time_s", "ccl-bench adds durations over devices and steps")},
      {"exposed_comm_time", "Time per step in which communication runs and no compute hides it",
       "s", &ExposedCommTime, Better::kLower},
      {"comm_wait_fraction",
       "Share of the time inside communication kernels that is waiting for others", "%",
       &CommWaitFraction, Better::kLower, "GPU activity, matched collectives"},
      {"avg_comm_kernel_time_s", "Mean transfer time of a collective, without waiting", "s",
       &AvgCommKernelTimeS, Better::kLower, "GPU activity, communication kernels"},
      {"allreduce_comm_time_s", "Transfer time of all-reduces in a step, without waiting", "s",
       &AllreduceCommTimeS, Better::kLower, "GPU activity, communication kernels, all_reduce"},
      {"communication_fraction", "Share of the step in which a communication kernel runs", "%",
       [](const RunView& run) {
         return MeanRatio(run, &Breakdown::communication_ns, &Breakdown::window_ns, 100);
       }},
      {"communication_ratio",
       "Summed communication kernels / summed kernels (kept because papers quote it)", "%",
       &CommunicationRatio},
      {"communication_overhead", "Share of the step in which communication runs and no compute", "",
       [](const RunView& run) {
         return MeanRatio(run, &Breakdown::exposed_communication_ns, &Breakdown::window_ns);
       },
       Better::kLowerTime},
      {"comm_comp_overlap",
       "Share of the communication time that compute hides",
       "%",
       [](const RunView& run) {
         return MeanRatio(run, &Breakdown::hidden_communication_ns, &Breakdown::communication_ns,
                          100);
       },
       Better::kHigher,
       "GPU activity, communication kernels",
       {{.name = "compute_comm_overlap"},
        {.name = "communication_overlap_ratio", .scale = 0.01, .unit = ""}}},
      {"comm_kernel_breakdown", "Durations of communication added over all ranks; detail: by kind",
       "s", &CommKernelBreakdown, Better::kNeither, "GPU activity, communication kernels",
       Alias("comm_kernel_breakdown_tpu")}};
}

}  // namespace orrery::analyze::communication_time
