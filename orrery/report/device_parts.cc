#include "orrery/report/device_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>

#include <fmt/core.h>

#include "orrery/analyze/communication_parts.h"
#include "orrery/base/parallel.h"

namespace orrery::report {
namespace {

using analyze::DeviceView;
using analyze::RunView;

DeviceParts PartsOf(const RunView& run, const DeviceView& device) {
  std::vector<Interval> waits;
  std::vector<Interval> transfers;
  for (const analyze::CommunicationPart& part : analyze::CommunicationParts(run, device)) {
    const std::int64_t useful_ns = part.is_matched ? part.useful_ns : part.time.begin_ns;
    waits.push_back({part.time.begin_ns, useful_ns});
    transfers.push_back({useful_ns, part.time.end_ns});
  }
  const IntervalSet transfer = IntervalSet::Of(transfers);
  return {device.compute, Difference(transfer, device.compute),
          Difference(IntervalSet::Of(waits), Union(device.compute, transfer)),
          Difference(device.memory, Union(device.compute, device.communication))};
}

const analyze::Window* WindowOfStep(const DeviceView& device, std::int64_t number) {
  const auto found = std::ranges::find(device.windows, number, &analyze::Window::number);
  return found == device.windows.end() ? nullptr : &*found;
}

std::vector<Slice> SlicesWithin(const DeviceParts& parts, Interval window, std::int64_t origin_ns) {
  std::vector<Slice> slices;
  for (std::size_t part = 0; part < parts.size(); ++part) {
    const IntervalSet inside = Clipped(parts[part], window);
    for (const Interval& interval : inside.intervals()) {
      slices.push_back({.begin_ns = interval.begin_ns - origin_ns,
                        .end_ns = interval.end_ns - origin_ns,
                        .part = static_cast<Part>(part)});
    }
  }
  std::ranges::sort(slices, {}, &Slice::begin_ns);
  return slices;
}

// From the first begin to the last end of a step on any device.
Interval SpanOfStep(const RunView& run, std::int64_t number) {
  Interval span{.begin_ns = std::numeric_limits<std::int64_t>::max(),
                .end_ns = std::numeric_limits<std::int64_t>::min()};
  for (const DeviceView& device : run.devices) {
    if (const analyze::Window* const window = WindowOfStep(device, number)) {
      span.begin_ns = std::min(span.begin_ns, window->time.begin_ns);
      span.end_ns = std::max(span.end_ns, window->time.end_ns);
    }
  }
  return span;
}

}  // namespace

std::vector<DeviceParts> PartsOfDevices(const RunView& run) {
  std::vector<DeviceParts> parts(run.devices.size());
  ParallelFor(run.devices.size(), run.options.threads,
              [&](std::size_t device) { parts[device] = PartsOf(run, run.devices[device]); });
  return parts;
}

std::string DeviceLabel(const RunView& run, std::size_t device) {
  const DeviceView& view = run.devices[device];
  const auto of_rank = std::ranges::count(run.devices, view.rank_index, &DeviceView::rank_index);
  return of_rank == 1 ? fmt::format("rank {}", view.rank)
                      : fmt::format("rank {}, GPU {}", view.rank, view.device);
}

std::vector<RankTime> RankTimes(const RunView& run, const std::vector<DeviceParts>& parts) {
  std::vector<RankTime> times;
  for (std::size_t device = 0; device < run.devices.size(); ++device) {
    const std::int64_t window_ns = run.devices[device].total.window_ns;
    if (window_ns == 0) {
      continue;
    }
    RankTime& time = times.emplace_back(RankTime{.label = DeviceLabel(run, device), .part_ns = {}});
    std::int64_t busy_ns = 0;
    for (std::size_t part = 0; part < parts[device].size(); ++part) {
      time.part_ns[part] = parts[device][part].length_ns();
      busy_ns += time.part_ns[part];
    }
    time.part_ns.back() = window_ns - busy_ns;
  }
  return times;
}

std::optional<StepTimeline> FirstStep(const RunView& run, const std::vector<DeviceParts>& parts) {
  const auto first = std::ranges::find_if(
      run.devices, [](const DeviceView& device) { return !device.windows.empty(); });
  if (first == run.devices.end()) {
    return std::nullopt;
  }
  const analyze::Window& chosen = first->windows.front();
  const Interval span = SpanOfStep(run, chosen.number);
  StepTimeline timeline{.step = chosen.step == kNoRow
                                    ? "The whole recording"
                                    : fmt::format("Step {}", chosen.number),
                        .length_ns = span.length_ns()};
  for (std::size_t device = 0; device < run.devices.size(); ++device) {
    if (const analyze::Window* const window = WindowOfStep(run.devices[device], chosen.number)) {
      timeline.rows.push_back({.label = DeviceLabel(run, device),
                               .slices = SlicesWithin(parts[device], window->time, span.begin_ns)});
    }
  }
  return timeline;
}

}  // namespace orrery::report
