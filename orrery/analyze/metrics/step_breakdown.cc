#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/communication_parts.h"
#include "orrery/analyze/breakdown/idle_gaps.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/columns.h"
#include "orrery/base/document/value.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/base/string_table.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze::step_breakdown {
namespace {

using trace::KernelClass;

// BreakDownSteps time by class: where kernels of several classes run together, the one that began
// first has the time until it ends, so that the classes sum to the compute time.
using ClassTimes = std::array<std::int64_t, trace::kNumKernelClasses>;

struct Share {
  std::string name;
  double percent = 0;
};

void AddShares(const RunView& run, const DeviceView& device, std::vector<Share>& shares) {
  ClassTimes times{};
  const trace::Trace& trace = run.TraceOf(device);
  const IntervalSet& selected = run.selected[device.rank_index];
  std::int64_t covered_ns = INT64_MIN;
  for (const RowId row : device.activities) {
    const KernelClass kernel_class = run.ClassOf(device, row);
    if (!trace::IsCompute(kernel_class)) {
      continue;
    }
    const std::int64_t begin_ns = std::max(trace.activities.begin_ns[row], covered_ns);
    const std::int64_t end_ns = trace.activities.begin_ns[row] + trace.activities.duration_ns[row];
    if (begin_ns < end_ns) {
      times[static_cast<std::size_t>(kernel_class)] += selected.LengthWithin(begin_ns, end_ns);
      covered_ns = end_ns;
    }
  }
  std::vector<Interval> waits;
  std::vector<Interval> transfers;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    waits.push_back({part.time.begin_ns, part.useful_ns});
    transfers.push_back({part.useful_ns, part.time.end_ns});
  }
  // Time in which one collective waits and another moves data is transfer time.
  const std::int64_t wait_ns =
      Difference(Difference(IntervalSet::Of(waits), IntervalSet::Of(transfers)), device.compute)
          .length_ns();
  const Breakdown& total = device.total;
  const double scale = total.window_ns == 0 ? 0 : 100.0 / static_cast<double>(total.window_ns);
  std::size_t place = 0;
  const auto add = [&](std::string name, std::int64_t ns) {
    if (place == shares.size()) {
      shares.push_back({std::move(name)});
    }
    shares[place++].percent +=
        static_cast<double>(ns) * scale / static_cast<double>(run.devices.size());
  };
  add("exposed communication, waiting", wait_ns);
  add("exposed communication, transfer", total.exposed_communication_ns - wait_ns);
  add("exposed memory", total.exposed_memory_ns);
  add("idle", total.idle_ns);
  for (std::size_t i = 0; i < times.size(); ++i) {
    add(std::string(trace::KernelClassName(static_cast<KernelClass>(i))), times[i]);
  }
}

MetricResult BreakDownSteps(const RunView& run) {
  std::vector<Share> shares;
  double hidden = 0;
  for (const DeviceView& device : run.devices) {
    AddShares(run, device, shares);
    hidden += Percent(device.total.hidden_communication_ns(), device.total.window_ns).value_or(0) /
              static_cast<double>(run.devices.size());
  }
  std::ranges::stable_sort(shares, std::greater<>(), &Share::percent);
  MetricResult result{.value = shares.front().percent};
  NoteScope(run, result.detail);
  Value rows = Value::List();
  for (const Share& share : shares) {
    if (share.percent > 0) {
      rows.Add(Value::Object().Set("part", share.name).Set("percent", share.percent));
    }
  }
  result.detail.Set("parts", std::move(rows));
  result.detail.Set("hidden_communication_percent", hidden);
  return result;
}

MetricResult TemporalBreakdown(const RunView& run) {
  MetricResult result = MeanRatio(run, &Breakdown::compute_ns, &Breakdown::window_ns, 100);
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const Breakdown& parts = device.total;
    rows.Add(DeviceRow(device)
                 .Set("compute_ns", parts.compute_ns)
                 .Set("exposed_communication_ns", parts.exposed_communication_ns)
                 .Set("exposed_memory_ns", parts.exposed_memory_ns)
                 .Set("idle_ns", parts.idle_ns)
                 .Set("window_ns", parts.window_ns));
  }
  result.detail.Set("per_rank", rows);
  return result;
}

struct CauseTotals {
  std::array<std::int64_t, kNumIdleCauses> sum_ns{};
  std::array<std::int64_t, kNumIdleCauses> count{};
};

MetricResult IdleBreakdown(const RunView& run) {
  MetricResult result = MeanRatio(run, &Breakdown::idle_ns, &Breakdown::window_ns, 100);
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    CauseTotals totals;
    for (const IdleGap& gap : FindIdleGaps(run, device)) {
      const auto cause = static_cast<std::size_t>(gap.cause);
      totals.sum_ns[cause] += gap.time.length_ns();
      ++totals.count[cause];
    }
    Value row = DeviceRow(device).Set("idle_ns", device.total.idle_ns);
    for (std::size_t cause = 0; cause < totals.sum_ns.size(); ++cause) {
      const std::string name(IdleCauseName(static_cast<IdleCause>(cause)));
      row.Set(name + "_ns", totals.sum_ns[cause]);
      row.Set(name + "_gaps", totals.count[cause]);
    }
    rows.Add(row);
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

// By name; work without an annotation is under the empty one.
using TotalOfAnnotation = std::map<std::string_view, DurationTotal>;

// The innermost range of the own thread around each call. Ranges and calls are in order of begin,
// so one pass with a stack for each thread finds them.
std::vector<RowId> RangesAroundCalls(const trace::Trace& trace) {
  const trace::Annotations& ranges = trace.annotations;
  // Step markers contain everything, so they do not count.
  std::vector<bool> is_counted;
  for (const trace::AnnotationKind kind : trace.annotations.kind) {
    is_counted.push_back(kind == trace::AnnotationKind::kHost);
  }
  for (const RowId annotation : trace.steps.annotation) {
    if (annotation != kNoRow) {
      is_counted[annotation] = false;
    }
  }
  std::vector<std::vector<RowId>> open_on_track(trace.tracks.size());
  const auto close_until = [&](std::vector<RowId>& open, std::int64_t time_ns) {
    while (!open.empty() &&
           ranges.begin_ns[open.back()] + ranges.duration_ns[open.back()] <= time_ns) {
      open.pop_back();
    }
  };
  std::vector<RowId> range_of_call(trace.runtime_calls.size(), kNoRow);
  RowId range = 0;
  for (RowId call = 0; call < range_of_call.size(); ++call) {
    const std::int64_t begin_ns = trace.runtime_calls.begin_ns[call];
    for (; range < ranges.size() && ranges.begin_ns[range] <= begin_ns; ++range) {
      if (is_counted[range] && ranges.track[range] != kNoRow) {
        std::vector<RowId>& open = open_on_track[ranges.track[range]];
        close_until(open, ranges.begin_ns[range]);
        open.push_back(range);
      }
    }
    if (const RowId track = trace.runtime_calls.track[call]; track != kNoRow) {
      close_until(open_on_track[track], begin_ns);
      range_of_call[call] = open_on_track[track].empty() ? kNoRow : open_on_track[track].back();
    }
  }
  return range_of_call;
}

TotalOfAnnotation TotalsOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const std::vector<RowId> range_of_call = RangesAroundCalls(trace);
  std::map<StringId, DurationTotal> total_of_name;
  ForEachSelected(run, device, [&](RowId row) {
    const RowId call = trace.activities.launch[row];
    const RowId range = call == kNoRow ? kNoRow : range_of_call[call];
    const StringId name = range == kNoRow ? StringId::kEmpty : trace.annotations.name[range];
    total_of_name[name].Add(trace.activities.duration_ns[row]);
  });
  TotalOfAnnotation totals;
  for (const auto& [name, total] : total_of_name) {
    totals[trace.Text(name)] += total;
  }
  return totals;
}

std::int64_t SumNs(const TotalOfAnnotation& totals) {
  std::int64_t sum_ns = 0;
  for (const auto& [name, total] : totals) {
    sum_ns += total.sum_ns;
  }
  return sum_ns;
}

MetricResult AnnotationBreakdown(const RunView& run) {
  TotalOfAnnotation all;
  std::vector<TotalOfAnnotation> of_device;
  for (const DeviceView& device : run.devices) {
    for (const auto& [name, total] : of_device.emplace_back(TotalsOf(run, device))) {
      all[name] += total;
    }
  }
  // The annotation with most time; among equals the first by name.
  std::string_view largest;
  std::int64_t largest_ns = -1;
  for (const auto& [name, total] : all) {
    if (!name.empty() && total.sum_ns > largest_ns) {
      largest = name;
      largest_ns = total.sum_ns;
    }
  }
  if (largest.empty()) {
    return NotAvailable("no annotation is around the launches of the selected steps");
  }
  MetricResult result = MeanOverDevices(run, [&](const DeviceView& device) {
    const TotalOfAnnotation& totals =
        of_device[static_cast<std::size_t>(&device - run.devices.data())];
    const auto found = totals.find(largest);
    return Percent(found == totals.end() ? 0 : found->second.sum_ns, SumNs(totals));
  });
  result.detail.Set("largest", largest);
  std::vector<std::pair<std::string_view, DurationTotal>> sorted(all.begin(), all.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& entry) { return entry.second.sum_ns; });
  const std::int64_t all_ns = SumNs(all);
  Value rows = Value::List();
  for (const auto& [name, total] : sorted) {
    const std::optional<double> share = Percent(total.sum_ns, all_ns);
    Value row = Value::Object();
    row.Set("annotation", name.empty() ? Value() : Value(name));
    row.Set("percent", share ? Value(*share) : Value());
    total.Describe(row);
    rows.Add(std::move(row));
  }
  result.detail.Set("annotations", rows);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {"break_down_steps",
       "The largest part of the step, of compute classes, waiting, transfer, memory and idle", "%",
       &BreakDownSteps},
      {"temporal_breakdown",
       "Share of the step in which compute runs; detail: communication, memory and idle time", "%",
       &TemporalBreakdown},
      {"idle_breakdown", "Share of the step in which the device is idle; detail: by cause", "%",
       &IdleBreakdown, Better::kLowerTime},
      {"annotation_breakdown", "Share of device time in the largest annotated part of the program",
       "%", &AnnotationBreakdown}};
}

}  // namespace orrery::analyze::step_breakdown
