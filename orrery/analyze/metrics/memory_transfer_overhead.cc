#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::memory_transfer_overhead {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Percent(device.total.exposed_memory_ns, device.total.window_ns);
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "memory_transfer_overhead",
       .meaning = "Share of the step in which only copies and sets run",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition =
           "100 * (union of copies and sets without kernels) / window; per device, then the mean",
       .compute = &Compute,
       .aliases = {}}};
}

}  // namespace orrery::analyze::memory_transfer_overhead
