#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::aggregate_gpu_utilization {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Percent(device.total.window_ns - device.total.idle_ns, device.total.window_ns);
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "aggregate_gpu_utilization",
       .meaning = "Share of the step in which the GPU runs anything",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "100 * union of kernels, copies and sets / window; per device, then the mean",
       .compute = &Compute,
       .aliases = {}}};
}

}  // namespace orrery::analyze::aggregate_gpu_utilization
