#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::communication_ratio {
namespace {

MetricResult Compute(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [](const DeviceView& device) {
    return Percent(device.total.communication_sum_ns, device.total.kernel_sum_ns);
  });
  result.detail.Set("note", "a share of summed durations, not of time: waiting counts as work");
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {
      {.name = "communication_ratio",
       .meaning = "Summed communication kernels / summed kernels (kept because papers quote it)",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition = "100 * sum of durations of communication kernels / sum of all kernels; per "
                     "device, then the mean",
       .compute = &Compute}};
}

}  // namespace orrery::analyze::communication_ratio
