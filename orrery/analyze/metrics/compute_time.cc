#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::compute_time {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Seconds(device.total.compute_ns) / static_cast<double>(NumSteps(device));
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "compute_time",
           .meaning = "Time per step in which a compute kernel runs",
           .unit = "s",
           .needs = {{NeedKind::kGpu}},
           .definition = "Union of compute kernels per step; per device, then the mean",
           .compute = &Compute,
           .aliases = {{.name = "kernel_compute_time_group_6",
                        .difference = "ccl-bench adds durations over the whole file"},
                       {.name = "total_compute_time_s",
                        .difference = "ccl-bench adds durations over devices and steps"}}}};
}

}  // namespace orrery::analyze::compute_time
