#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::compute_time {
namespace {

MetricResult TotalKernelTime(const RunView& run) {
  MetricResult result = MeanSecondsPerStep(run, &Breakdown::kernel_sum_ns);
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
           .compute = &TotalKernelTime,
           .better = Better::kLower},
          {.name = "compute_time",
           .meaning = "Time per step in which a compute kernel runs",
           .unit = "s",
           .needs = {{NeedKind::kGpu}},
           .definition = "Union of compute kernels per step; per device, then the mean",
           .compute =
               [](const RunView& run) { return MeanSecondsPerStep(run, &Breakdown::compute_ns); },
           .aliases = {{.name = "kernel_compute_time_group_6",
                        .difference = "ccl-bench adds durations over the whole file"},
                       {.name = "total_compute_time_s",
                        .difference = "ccl-bench adds durations over devices and steps"}},
           .better = Better::kLower},
          {.name = "compute_utilization",
           .meaning = "Share of the step in which a compute kernel runs",
           .needs = {{NeedKind::kGpu}},
           .definition = "Union of compute kernels / window; per device, then the mean",
           .compute =
               [](const RunView& run) {
                 return MeanRatio(run, &Breakdown::compute_ns, &Breakdown::window_ns);
               },
           .aliases = {{.name = "compute_utilization_proxy",
                        .difference = "ccl-bench adds durations and divides by the span of a "
                                      "process, so it can exceed 1"}}}};
}

}  // namespace orrery::analyze::compute_time
