#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/kernel_work.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::estimated_bandwidth {
namespace {

MetricResult Compute(const RunView& run) {
  std::int64_t known_ns = 0;
  std::int64_t compute_ns = 0;
  std::int64_t kernels = 0;
  bool is_from_shapes = false;
  MetricResult result =
      MeanOverDevices(run, [&](const DeviceView& device) -> std::optional<double> {
        const WorkTotal work = TotalWork(run, device);
        known_ns += work.bytes_ns;
        compute_ns += work.compute_ns;
        kernels += work.kernels_with_bytes;
        is_from_shapes |= work.is_from_shapes;
        const auto window_ns = static_cast<double>(device.total.window_ns);
        return window_ns == 0 ? std::nullopt : std::optional(work.bytes / window_ns);
      });
  if (kernels == 0) {
    return NotAvailable("no byte counts");
  }
  const auto covered = Percent(known_ns, compute_ns);
  result.detail.Set("estimated", true);
  result.detail.Set("source",
                    WorkSourceName(is_from_shapes ? WorkSource::kShapes : WorkSource::kCostModel));
  result.detail.Set("kernels_with_bytes", kernels);
  result.detail.Set("covered_percent", covered ? Value(*covered) : Value());
  if (known_ns < compute_ns) {
    result.detail.Set("bound", "lower");
  }
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "estimated_bandwidth",
           .meaning = "Bytes that the kernels have to move / time of the steps",
           .unit = "GB/s",
           .needs = {{NeedKind::kGpu}},
           .definition = "Sum of known bytes (XLA's bytes_accessed, or operator shapes: inputs and "
                         "one output) / window; per device, then the mean",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::estimated_bandwidth
