#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/step_time.h"

namespace orrery::analyze::total_trace_time {
namespace {

MetricResult Compute(const RunView& run) {
  bool is_device_time = false;
  const Interval whole = RecordedTime(run, is_device_time);
  MetricResult result{.value = Seconds(whole.length_ns())};
  result.detail.Set("source", is_device_time ? "device activities" : "host events");
  return result;
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "total_trace_time",
           .meaning = "Length of the recording",
           .unit = "s",
           .needs = {{NeedKind::kEvents}},
           .definition = "Latest end - earliest begin of device activities over all ranks on the "
                         "common clock; of host events where there are none",
           .compute = &Compute,
           .aliases = {
               {.name = "wall_time_s", .difference = "ccl-bench mixes host and device events"}}}};
}

}  // namespace orrery::analyze::total_trace_time
