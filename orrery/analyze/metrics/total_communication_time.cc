#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::total_communication_time {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Seconds(device.total.communication_ns) / static_cast<double>(NumSteps(device));
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "total_communication_time",
           .meaning = "Time per step in which a communication kernel runs, waiting included",
           .unit = "s",
           .needs = {{NeedKind::kGpu}},
           .definition = "Union of communication kernels per step; per device, then the mean",
           .compute = &Compute,
           .aliases = {{.name = "total_comm_time_s",
                        .difference = "ccl-bench adds durations over devices and steps"}}}};
}

}  // namespace orrery::analyze::total_communication_time
