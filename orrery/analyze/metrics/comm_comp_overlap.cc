#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::comm_comp_overlap {
namespace {

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [](const DeviceView& device) -> std::optional<double> {
    return Percent(device.total.communication_ns - device.total.exposed_communication_ns,
                   device.total.communication_ns);
  });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "comm_comp_overlap",
           .meaning = "Share of the communication time that compute hides",
           .unit = "%",
           .needs = {{NeedKind::kGpu}, {NeedKind::kComm}},
           .definition = "100 * (union of communication kernels and union of compute kernels, "
                         "common part) / union of communication kernels; per device, then the mean",
           .compute = &Compute,
           .aliases = {{.name = "compute_comm_overlap"},
                       {.name = "communication_overlap_ratio", .scale = 0.01, .unit = ""}}}};
}

}  // namespace orrery::analyze::comm_comp_overlap
