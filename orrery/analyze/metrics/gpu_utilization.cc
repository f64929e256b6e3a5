#include <algorithm>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/hardware/gpu.h"
#include "orrery/trace/summary.h"

namespace orrery::analyze::gpu_utilization {
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

MetricResult Sm(const RunView& run) {
  return MeanOverDevices(run, [&](const DeviceView& device) { return MeanActive(run, device); });
}

// Weighted by duration, for compute, communication and both.
struct Coverage {
  double covered[2] = {0, 0};
  double duration[2] = {0, 0};

  Coverage& operator+=(const Coverage& other) {
    for (const int which : {0, 1}) {
      covered[which] += other.covered[which];
      duration[which] += other.duration[which];
    }
    return *this;
  }

  [[nodiscard]] std::optional<double> PercentOf(bool communication) const {
    const int which = communication ? 1 : 0;
    return duration[which] > 0 ? std::optional(100 * covered[which] / duration[which])
                               : std::nullopt;
  }

  [[nodiscard]] std::optional<double> PercentOfAll() const {
    const double total = duration[0] + duration[1];
    return total > 0 ? std::optional(100 * (covered[0] + covered[1]) / total) : std::nullopt;
  }
};

int Multiprocessors(const trace::Trace& trace, std::int32_t device) {
  for (RowId row = 0; row < trace.devices.size(); ++row) {
    if (trace.devices.id[row] == device && trace.devices.multiprocessors[row] > 0) {
      return trace.devices.multiprocessors[row];
    }
  }
  const hardware::Gpu* const gpu = hardware::FindGpu(trace::DeviceName(trace));
  return gpu == nullptr ? 0 : gpu->multiprocessors;
}

std::optional<double> BlocksOf(const trace::LaunchShapes& shapes, RowId shape) {
  if (shape == kNoRow || shapes.grid_x[shape] < 1) {
    return std::nullopt;
  }
  return static_cast<double>(shapes.grid_x[shape]) *
         static_cast<double>(std::max(1, shapes.grid_y[shape])) *
         static_cast<double>(std::max(1, shapes.grid_z[shape]));
}

Coverage CoverageOf(const RunView& run, const DeviceView& device) {
  Coverage coverage;
  const trace::Trace& trace = run.TraceOf(device);
  const int multiprocessors = Multiprocessors(trace, device.device);
  if (multiprocessors == 0) {
    return coverage;
  }
  for (const RowId row : device.activities) {
    const auto blocks = BlocksOf(trace.launch_shapes, trace.activities.shape[row]);
    if (blocks && run.IsSelected(device.rank_index, trace.activities.begin_ns[row])) {
      const int which = run.ClassOf(device, row) == trace::KernelClass::kCommunication ? 1 : 0;
      const auto duration = static_cast<double>(trace.activities.duration_ns[row]);
      coverage.covered[which] += duration * std::min(1.0, *blocks / multiprocessors);
      coverage.duration[which] += duration;
    }
  }
  return coverage;
}

MetricResult MeanSmCoverage(const RunView& run) {
  Coverage all;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const Coverage coverage = CoverageOf(run, device);
    rows.Add(DeviceRow(device)
                 .Set("compute", OrNull(coverage.PercentOf(false)))
                 .Set("communication", OrNull(coverage.PercentOf(true)))
                 .Set("all", OrNull(coverage.PercentOfAll())));
    all += coverage;
  }
  if (!all.PercentOf(false)) {
    return NotAvailable(kNoGeometryReason);
  }
  MetricResult result{.value = all.PercentOf(false)};
  NoteScope(run, result.detail);
  result.detail.Set("communication", OrNull(all.PercentOf(true)));
  result.detail.Set("all", OrNull(all.PercentOfAll()));
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

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
  return {
      {.name = "aggregate_gpu_utilization",
       .meaning = "Share of the step in which the GPU runs anything",
       .unit = "%",
       .needs = {{NeedKind::kGpu}},
       .definition =
           "100 * union of kernels, memcpys and memsets / window; per device, then the mean",
       .compute =
           [](const RunView& run) {
             return MeanRatio(run, &Breakdown::busy_ns, &Breakdown::window_ns, 100);
           }},
      {.name = "sm",
       .meaning = "Share of the streaming multiprocessors that were active, over time",
       .unit = "%",
       .needs = {{NeedKind::kGpu}, {NeedKind::kSmCounters}},
       .definition = "Time mean of the counter SMs Active over the selected steps; per device, "
                     "then the mean",
       .compute = &Sm},
      {.name = "mean_sm_coverage",
       .meaning = "How much of the GPU the grids of compute kernels could fill",
       .unit = "%",
       .needs = {{NeedKind::kGpu}, {NeedKind::kGeometry}},
       .definition = "100 * sum of duration * min(1, blocks / multiprocessors) / sum of durations "
                     "over compute kernels of all devices; from launch geometry, not measured",
       .compute = &MeanSmCoverage},
      {.name = "total_kernel_time",
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

}  // namespace orrery::analyze::gpu_utilization
