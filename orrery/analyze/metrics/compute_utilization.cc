#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::compute_utilization {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Ratio(device.total.compute_ns, device.total.window_ns);
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "compute_utilization",
           .meaning = "Share of the step in which a compute kernel runs",
           .unit = "",
           .needs = {{NeedKind::kGpu}},
           .definition = "Union of compute kernels / window; per device, then the mean",
           .compute = &Compute,
           .aliases = {{.name = "compute_utilization_proxy",
                        .difference = "ccl-bench adds durations and divides by the span of a "
                                      "process, so it can exceed 1"}}}};
}

}  // namespace orrery::analyze::compute_utilization
