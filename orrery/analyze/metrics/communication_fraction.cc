#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::communication_fraction {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Percent(device.total.communication_ns, device.total.window_ns);
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "communication_fraction",
           .meaning = "Share of the step in which a communication kernel runs",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "100 * union of communication kernels / window; per device, then the "
                         "mean. ccl-bench: a share of summed durations",
           .compute = &Compute,
           .aliases = {}}};
}

}  // namespace orrery::analyze::communication_fraction
