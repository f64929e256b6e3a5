#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::total_kernel_time {
namespace {

MetricResult Compute(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Seconds(device.total.kernel_sum_ns) / static_cast<double>(NumSteps(device));
  });
  std::int64_t sum_ns = 0;
  for (const DeviceView& device : run.devices) {
    sum_ns += device.total.kernel_sum_ns;
  }
  result.detail.Set("sum_over_ranks_s", Seconds(sum_ns));
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "total_kernel_time",
           .meaning = "Durations of all kernels added up, per device and step",
           .unit = "s",
           .needs = {{NeedKind::kGpu}},
           .definition = "Sum of kernel durations inside the windows per step; mean over devices",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::total_kernel_time
