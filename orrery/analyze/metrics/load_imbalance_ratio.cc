#include <algorithm>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/reasons.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze::load_imbalance_ratio {
namespace {

MetricResult Compute(const RunView& run) {
  std::vector<double> seconds;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    seconds.push_back(Seconds(device.total.compute_ns) / static_cast<double>(NumSteps(device)));
    rows.Add(DeviceRow(device).Set("compute_s", seconds.back()));
  }
  const double largest = *std::ranges::max_element(seconds);
  const double smallest = *std::ranges::min_element(seconds);
  if (largest <= 0) {
    return NotAvailable(kNoComputeReason);
  }
  MetricResult result{.value = largest / Mean(seconds)};
  NoteScope(run, result.detail);
  result.detail.Set("max_over_min", smallest > 0 ? Value(largest / smallest) : Value());
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "load_imbalance_ratio",
           .meaning = "How much more compute the busiest rank has than the average",
           .unit = "",
           .needs = {{NeedKind::kGpu}, {NeedKind::kRanks}},
           .definition = "Largest / mean over devices of the union of compute kernels per step. "
                         "ccl-bench counts waiting as work",
           .compute = &Compute,
           .better = Better::kLower}};
}

}  // namespace orrery::analyze::load_imbalance_ratio
