#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/duration_total.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/selected_rows.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze::annotation_breakdown {
namespace {

using trace::kNoRow;
using trace::RowId;

// By name; work without an annotation is under the empty one.
using TotalOfAnnotation = std::map<std::string_view, DurationTotal>;

// The innermost range around each operator that is not a step marker, which would hold
// everything. Ranges are in order of begin, so parents come before their children.
std::vector<RowId> InnermostRanges(const trace::Trace& trace) {
  std::vector<bool> is_step(trace.annotations.size(), false);
  for (const RowId annotation : trace.steps.annotation) {
    if (annotation != kNoRow) {
      is_step[annotation] = true;
    }
  }
  std::vector<RowId> range(trace.annotations.size(), kNoRow);
  for (RowId row = 0; row < range.size(); ++row) {
    const RowId parent = trace.annotations.parent[row];
    range[row] = !is_step[row] ? row : parent == kNoRow ? kNoRow : range[parent];
  }
  return range;
}

TotalOfAnnotation TotalsOf(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const std::vector<RowId> innermost = InnermostRanges(trace);
  std::map<StringId, DurationTotal> total_of_name;
  ForEachSelected(run, device, [&](RowId row) {
    const RowId op = trace.activities.host_op[row];
    const RowId around = op == kNoRow ? kNoRow : trace.host_ops.annotation[op];
    const RowId range = around == kNoRow ? kNoRow : innermost[around];
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
               "Work belongs to the innermost annotation around the operator that launched it "
               "(step markers do not count). The number is the share of the largest annotation in "
               "the summed durations of a device, mean over devices.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::annotation_breakdown
