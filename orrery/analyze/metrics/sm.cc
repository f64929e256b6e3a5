#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/aggregate.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::sm {
namespace {

// Samples hold from their time to the next one; what lies in the windows is averaged over time.
std::optional<double> MeanActive(const RunView& run, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const IntervalSet& selected = run.selected[device.rank_index];
  double weighted = 0;
  std::int64_t total_ns = 0;
  std::optional<RowId> previous;
  const auto add = [&](RowId sample, std::int64_t end_ns) {
    const std::int64_t inside_ns = selected.LengthWithin(trace.counters.begin_ns[sample], end_ns);
    weighted += trace.counters.value[sample] * static_cast<double>(inside_ns);
    total_ns += inside_ns;
  };
  for (RowId row = 0; row < trace.counters.size(); ++row) {
    const bool is_here =
        trace.counters.device[row] < 0 || trace.counters.device[row] == device.device;
    if (!is_here || !trace.Text(trace.counters.name[row]).starts_with("SMs Active")) {
      continue;
    }
    if (previous) {
      add(*previous, trace.counters.begin_ns[row]);
    }
    previous = row;
  }
  return total_ns == 0 ? std::nullopt : std::optional(weighted / static_cast<double>(total_ns));
}

MetricResult Compute(const RunView& run) {
  return MeanOverDevices(run, [&](const DeviceView& device) { return MeanActive(run, device); });
}

}  // namespace

std::vector<Metric> Describe() {
  return {{.name = "sm",
           .meaning = "Share of the streaming multiprocessors that were active, over time",
           .unit = "%",
           .needs = {{NeedKind::kGpu}, {NeedKind::kSmCounters}},
           .definition = "Time mean of the counter SMs Active over the selected steps; per device, "
                         "then the mean",
           .compute = &Compute}};
}

}  // namespace orrery::analyze::sm
