#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/statistics.h"
#include "orrery/trace/collective_names.h"

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
      const auto kind = kernel ? kernel->kind : trace::CollectiveKind::kUnknown;
      ++operations.by_kind[std::string(trace::CollectiveKindName(kind))];
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
      ++operations.by_kind[std::string(trace::CollectiveKindName(table.kind[row]))];
      ++operations.count;
    }
  });
  return operations.count > 0 ? operations : FromKernels(run, device);
}

std::int64_t CallsWithoutKernel(const trace::Trace& trace) {
  return std::ranges::count(trace.collectives.num_kernels, 0);
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
  result.detail.Set("calls_without_kernel", CallsWithoutKernel(run.TraceOf(first)));
  result.detail.Set("mean_over_ranks", Mean(counts));
  return result;
}

void Add(Exposure& into, const Exposure& from) {
  into.busy_ns += from.busy_ns;
  into.hidden_ns += from.hidden_ns;
  into.exclusive_ns += from.exclusive_ns;
  into.shared_ns += from.shared_ns;
  into.shared_wait_ns += from.shared_wait_ns;
  into.shared_transfer_ns += from.shared_transfer_ns;
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
    const auto of_dimensions = SplitExposure(device.compute, parts, dimensions, kNumDimensions);
    const auto of_groups = SplitExposure(device.compute, parts, groups, num_groups);
    for (std::size_t i = 0; i < by_dimension.size(); ++i) {
      Add(by_dimension[i], of_dimensions[i]);
    }
    for (std::size_t i = 0; i < by_group.size(); ++i) {
      Add(by_group[i], of_groups[i]);
    }
  }
  const double scale =
      1e-3 / static_cast<double>(run.devices.size()) / static_cast<double>(NumSteps(run));
  Value dimension_rows = Value::List();
  for (std::size_t i = 0; i < by_dimension.size(); ++i) {
    if (by_dimension[i].busy_ns > 0) {
      dimension_rows.Add(RowOf("dimension", std::string(DimensionName(static_cast<Dimension>(i))),
                               by_dimension[i], scale));
    }
  }
  Value group_rows = Value::List();
  for (std::size_t i = 0; i < by_group.size(); ++i) {
    if (by_group[i].busy_ns > 0) {
      group_rows.Add(RowOf("group", GroupName(run, i), by_group[i], scale));
    }
  }
  result.detail.Set("per_dimension", std::move(dimension_rows));
  result.detail.Set("per_group", std::move(group_rows));
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
    if (record.kind == trace::CollectiveKind::kAllReduce) {
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

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "coll_call_num",
       .meaning = "Communication operations of one rank in a step",
       .needs = {{NeedKind::kGpu}},
       .definition = "Operations with a kernel in the selected steps / steps, of the lowest rank "
                     "(--rank); a fused kernel counts once",
       .compute = &CollCallNum,
       .aliases = {{.name = "num_comm_kernels",
                    .difference = "ccl-bench counts rows of the whole file by name"}}},
      {.name = "total_communication_time",
       .meaning = "Time per step in which a communication kernel runs, waiting included",
       .unit = "s",
       .needs = {{NeedKind::kGpu}},
       .definition = "Union of communication kernels per step; per device, then the mean",
       .compute =
           [](const RunView& run) { return MeanSecondsPerStep(run, &Breakdown::communication_ns); },
       .aliases = {{.name = "total_comm_time_s",
                    .difference = "ccl-bench adds durations over devices and steps"}},
       .better = Better::kLower},
      {.name = "exposed_comm_time",
       .meaning = "Time per step in which communication runs and no compute hides it",
       .unit = "s",
       .needs = {{NeedKind::kGpu}},
       .definition = "Union of communication kernels without that of compute kernels, per step; "
                     "detail per dimension and group, waiting and transfer apart",
       .compute = &ExposedCommTime,
       .better = Better::kLower},
      {.name = "comm_wait_fraction",
       .meaning = "Share of the time inside communication kernels that is waiting for others",
       .unit = "%",
       .needs = {{NeedKind::kGpu}, {NeedKind::kMatched}},
       .definition = "100 * sum of waits / sum of durations over matched collectives",
       .compute = &CommWaitFraction,
       .better = Better::kLower},
      {.name = "avg_comm_kernel_time_s",
       .meaning = "Mean transfer time of a collective, without waiting",
       .unit = "s",
       .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
       .definition = "Mean over matched collectives of the shortest duration over ranks; one rank "
                     "only: the mean duration, an upper bound",
       .compute = &AvgCommKernelTimeS,
       .better = Better::kLower},
      {.name = "allreduce_comm_time_s",
       .meaning = "Transfer time of all-reduces in a step, without waiting",
       .unit = "s",
       .needs = {{NeedKind::kGpu},
                 {NeedKind::kComm},
                 {.kind = NeedKind::kCollective, .collective = trace::CollectiveKind::kAllReduce}},
       .definition = "Sum over all-reduces of the shortest duration over ranks, per step",
       .compute = &AllreduceCommTimeS,
       .better = Better::kLower}};
}

}  // namespace orrery::analyze::communication_time
