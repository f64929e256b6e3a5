#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/idle_gaps.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::idle_breakdown {
namespace {

struct CauseTotals {
  std::array<std::int64_t, kNumIdleCauses> sum_ns{};
  std::array<std::int64_t, kNumIdleCauses> count{};
};

CauseTotals TotalGaps(const RunView& run, const DeviceView& device) {
  CauseTotals totals;
  for (const IdleGap& gap : FindIdleGaps(run, device)) {
    const auto cause = static_cast<std::size_t>(gap.cause);
    totals.sum_ns[cause] += gap.time.length_ns();
    ++totals.count[cause];
  }
  return totals;
}

Value RowOf(const RunView& run, const DeviceView& device) {
  const CauseTotals totals = TotalGaps(run, device);
  Value row = DeviceRow(device).Set("idle_ns", device.total.idle_ns);
  for (std::size_t cause = 0; cause < totals.sum_ns.size(); ++cause) {
    const std::string name(IdleCauseName(static_cast<IdleCause>(cause)));
    row.Set(name + "_ns", totals.sum_ns[cause]);
    row.Set(name + "_gaps", totals.count[cause]);
  }
  return row;
}

MetricResult Compute(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [](const DeviceView& device) {
    return Percent(device.total.idle_ns, device.total.window_ns);
  });
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    rows.Add(RowOf(run, device));
  }
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "idle_breakdown",
           .meaning = "How long devices do nothing, and why",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition =
               "The time of the device window in which nothing runs. Each gap is told by the "
               "activity that ends it: unknown (its launch was not recorded), host_wait (the call "
               "began after the gap did), launch_overhead (shorter than --launch-gap-us), "
               "dependency (it waited for work elsewhere that ended inside the gap), other.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::idle_breakdown
