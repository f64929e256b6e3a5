#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::communication_overhead {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Ratio(device.total.exposed_communication_ns, device.total.window_ns);
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "communication_overhead",
           .meaning = "Share of the step in which communication runs and no compute",
           .unit = "",
           .needs = {{NeedKind::kGpu}},
           .definition = "(Union of communication kernels without that of compute kernels) / "
                         "window; per device, then the mean",
           .compute = &Compute,
           .aliases = {}}};
}

}  // namespace orrery::analyze::communication_overhead
