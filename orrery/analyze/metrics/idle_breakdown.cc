#include <array>
#include <cstddef>
#include <cstdint>
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

Value DescribeCauses(const CauseTotals& totals, std::int64_t window_ns) {
  Value causes = Value::Object();
  for (std::size_t cause = 0; cause < totals.sum_ns.size(); ++cause) {
    const auto share = Percent(totals.sum_ns[cause], window_ns);
    causes.Set(IdleCauseName(static_cast<IdleCause>(cause)),
               Value::Object()
                   .Set("ns", totals.sum_ns[cause])
                   .Set("gaps", totals.count[cause])
                   .Set("percent", share ? Value(*share) : Value()));
  }
  return causes;
}

MetricResult Compute(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [](const DeviceView& device) {
    return Percent(device.total.idle_ns, device.total.window_ns);
  });
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    rows.Add(DeviceRow(device)
                 .Set("idle_ns", device.total.idle_ns)
                 .Set("causes", DescribeCauses(TotalGaps(run, device), device.total.window_ns)));
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
