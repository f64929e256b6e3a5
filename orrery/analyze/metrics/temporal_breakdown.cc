#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::temporal_breakdown {
namespace {

Value PartsOf(const DeviceView& device) {
  const Breakdown& parts = device.total;
  return DeviceRow(device)
      .Set("compute_ns", parts.compute_ns)
      .Set("exposed_communication_ns", parts.exposed_communication_ns)
      .Set("exposed_memory_ns", parts.exposed_memory_ns)
      .Set("idle_ns", parts.idle_ns)
      .Set("window_ns", parts.window_ns);
}

MetricResult Compute(const RunView& run) {
  MetricResult result = MeanOverDevices(run, [](const DeviceView& device) {
    return Percent(device.total.compute_ns, device.total.window_ns);
  });
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    rows.Add(PartsOf(device));
  }
  result.detail.Set("per_rank", rows);
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "temporal_breakdown",
           .meaning = "How the step divides into compute, communication, memory and idle time",
           .unit = "%",
           .needs = {{NeedKind::kGpu}},
           .definition = "The parts of the device window: some compute kernel runs; communication "
                         "and no compute; copies and sets alone; nothing. They sum to the window. "
                         "The number is the share of compute.",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::temporal_breakdown
