#include "orrery/analyze/peak_kernels.h"

#include <algorithm>
#include <cstddef>
#include <set>

#include <fmt/core.h>

namespace orrery::analyze {
namespace {

using trace::KernelClass;

// The counters of the requested GPU, or of an unnumbered GPU when there are no others.
const GpuTraffic* TrafficOfGpu(const LinkTraffic& traffic, std::int32_t gpu) {
  const auto found = std::ranges::find(traffic.gpus, gpu, &GpuTraffic::gpu);
  if (found != traffic.gpus.end()) {
    return &*found;
  }
  return traffic.gpus.size() == 1 && traffic.gpus.front().gpu < 0 ? &traffic.gpus.front() : nullptr;
}

std::string WhyNoGpu(const LinkTraffic& traffic, std::int32_t gpu) {
  std::set<std::int32_t> known;
  for (const GpuTraffic& each : traffic.gpus) {
    known.insert(each.gpu);
  }
  std::string list;
  for (const std::int32_t each : known) {
    list += fmt::format("{}{}", list.empty() ? "" : ", ", each);
  }
  return fmt::format("no link counters of GPU {}; --gpu chooses among {}", gpu, list);
}

const DeviceView* DeviceOf(const RunView& run, const GpuTraffic& gpu) {
  const DeviceView* const device = DeviceOfTraffic(run, gpu);
  // A recording of a GPU without a number goes with the only device there is.
  return device == nullptr && gpu.gpu < 0 && run.devices.size() == 1 ? &run.devices.front()
                                                                     : device;
}

bool IsKernel(const trace::Trace& trace, RowId row) {
  return trace.activities.kind[row] == trace::ActivityKind::kKernel;
}

PeakWithKernels KernelsOf(const RunView& run, const TrafficPeak& peak, const DeviceView& device) {
  const trace::Trace& trace = run.TraceOf(device);
  const Interval time = peak.interval->time;
  PeakWithKernels result{.peak = peak, .device = &device};
  IntervalSet communication;
  for (const RowId row : device.activities) {
    const std::int64_t begin_ns = std::max(trace.activities.begin_ns[row], time.begin_ns);
    const std::int64_t end_ns =
        std::min(trace.activities.begin_ns[row] + trace.activities.duration_ns[row], time.end_ns);
    if (begin_ns >= end_ns || !IsKernel(trace, row)) {
      continue;
    }
    const bool communicates = run.ClassOf(device, row) == KernelClass::kCommunication;
    if (communicates) {
      communication.Append(begin_ns, end_ns);
    }
    if (communicates || !run.options.nccl_only) {
      result.kernels.push_back({.activity = row, .overlap_ns = end_ns - begin_ns});
    }
  }
  std::ranges::stable_sort(result.kernels, std::greater{}, &KernelInPeak::overlap_ns);
  result.communication_ns = communication.length_ns();
  return result;
}

// Counters and kernels that were recorded at different times say nothing about each other.
bool OverlapInTime(const RunView& run, const LinkSeries& series, const DeviceView& device) {
  const trace::Span span = trace::RecordedSpan(run.TraceOf(device));
  return series.ObservedWithin({span.begin_ns, span.end_ns}) > 0;
}

}  // namespace

PeakList FindPeakKernels(const RunView& run, const LinkTraffic& traffic, std::int32_t gpu,
                         std::size_t count) {
  if (traffic.gpus.empty()) {
    return {.peaks = {}, .reason = traffic.reason};
  }
  const GpuTraffic* const counted = TrafficOfGpu(traffic, gpu);
  if (counted == nullptr) {
    return {.peaks = {}, .reason = WhyNoGpu(traffic, gpu)};
  }
  const DeviceView* const device = DeviceOf(run, *counted);
  if (device == nullptr) {
    return {.peaks = {}, .reason = fmt::format("no trace of GPU {}", gpu)};
  }
  if (!ShareClock(run, *counted, device->rank_index)) {
    return {.peaks = {}, .reason = "the counter file and the trace share no clock"};
  }
  PeakList list;
  for (const TrafficPeak& peak : HighestIntervals(*counted, run.options, count)) {
    if (!OverlapInTime(run, *peak.series, *device)) {
      return {.peaks = {}, .reason = "the counters and the trace were recorded at different times"};
    }
    list.peaks.push_back(KernelsOf(run, peak, *device));
  }
  list.reason = list.peaks.empty() ? "no NVLink samples of the chosen direction" : "";
  return list;
}

}  // namespace orrery::analyze
