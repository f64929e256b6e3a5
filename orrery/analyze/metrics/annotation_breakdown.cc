#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/kernel_totals.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::annotation_breakdown {
namespace {

// By name; work without an annotation is under the empty one.
using TotalOfAnnotation = std::map<std::string_view, DurationTotal>;

// Step markers would hold everything, so they do not count.
std::vector<bool> CountedRanges(const trace::Trace& trace) {
  std::vector<bool> is_counted;
  for (const trace::AnnotationKind kind : trace.annotations.kind) {
    is_counted.push_back(kind == trace::AnnotationKind::kHost);
  }
  for (const RowId annotation : trace.steps.annotation) {
    if (annotation != kNoRow) {
      is_counted[annotation] = false;
    }
  }
  return is_counted;
}

// The innermost range of the own thread around each call. Ranges and calls are in order of begin,
// so one pass with a stack for each thread finds them.
std::vector<RowId> RangesAroundCalls(const trace::Trace& trace) {
  const trace::Annotations& ranges = trace.annotations;
  const std::vector<bool> is_counted = CountedRanges(trace);
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

// The annotation with most time; among equals the first by name.
std::string_view LargestOf(const TotalOfAnnotation& totals) {
  std::string_view largest;
  std::int64_t largest_ns = -1;
  for (const auto& [name, total] : totals) {
    if (!name.empty() && total.sum_ns > largest_ns) {
      largest = name;
      largest_ns = total.sum_ns;
    }
  }
  return largest;
}

Value DescribeTotals(const TotalOfAnnotation& totals) {
  std::vector<std::pair<std::string_view, DurationTotal>> sorted(totals.begin(), totals.end());
  std::ranges::stable_sort(sorted, std::ranges::greater{},
                           [](const auto& entry) { return entry.second.sum_ns; });
  const std::int64_t all_ns = SumNs(totals);
  Value rows = Value::List();
  for (const auto& [name, total] : sorted) {
    const std::optional<double> share = Percent(total.sum_ns, all_ns);
    Value row = Value::Object();
    row.Set("annotation", name.empty() ? Value() : Value(name));
    row.Set("percent", share ? Value(*share) : Value());
    total.Describe(row);
    rows.Add(std::move(row));
  }
  return rows;
}

MetricResult Compute(const RunView& run) {
  TotalOfAnnotation all;
  std::vector<TotalOfAnnotation> of_device;
  for (const DeviceView& device : run.devices) {
    for (const auto& [name, total] : of_device.emplace_back(TotalsOf(run, device))) {
      all[name] += total;
    }
  }
  const std::string_view largest = LargestOf(all);
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
  result.detail.Set("annotations", DescribeTotals(all));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "annotation_breakdown",
           .meaning = "Which annotated part of the program the device works for",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "Work belongs to the innermost annotation around the call that launched it "
               "(step markers do not count). The number is the share of the largest annotation in "
               "the summed durations of a device, mean over devices.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::annotation_breakdown
