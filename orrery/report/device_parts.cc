#include "orrery/report/device_parts.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/parallel.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::report {
namespace {

using analyze::DeviceView;
using analyze::Interval;
using analyze::IntervalSet;
using analyze::RunView;
using trace::RowId;

struct WaitEnd {
  RowId instance = trace::kNoRow;
  std::int64_t time_ns = 0;
};

// Of each rank, when it stopped waiting in each of its sound collectives, in order of instance.
std::vector<std::vector<WaitEnd>> WaitEndsOfRanks(const RunView& run) {
  std::vector<std::vector<WaitEnd>> ends(run.set->ranks.size());
  for (std::size_t instance = 0; instance < run.matched.size(); ++instance) {
    if (run.waits.is_sound[instance] == 0) {
      continue;
    }
    for (const std::uint32_t member : run.matched.MembersOf(instance)) {
      ends[run.matched.members.rank_index[member]].push_back(
          {.instance = static_cast<RowId>(instance),
           .time_ns = run.matched.members.begin_ns[member] + run.waits.wait_ns[member]});
    }
  }
  return ends;
}

// When the collective of an activity stopped waiting; the beginning of time when nobody knows.
std::int64_t WaitEndOf(const RunView& run, const DeviceView& device, RowId activity,
                       const std::vector<WaitEnd>& ends) {
  constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::min();
  const RowId row = run.TraceOf(device).activities.collective[activity];
  const std::vector<RowId>& instance_of_row = run.matched.ranks[device.rank_index].instance_of_row;
  if (row == trace::kNoRow || row >= instance_of_row.size()) {
    return kNever;
  }
  const auto end = std::ranges::lower_bound(ends, instance_of_row[row], {}, &WaitEnd::instance);
  return end != ends.end() && end->instance == instance_of_row[row] ? end->time_ns : kNever;
}

struct Communication {
  IntervalSet waiting;
  IntervalSet transfer;
};

Communication SplitCommunication(const RunView& run, const DeviceView& device,
                                 const std::vector<WaitEnd>& ends) {
  std::vector<Interval> waiting;
  std::vector<Interval> transfer;
  const trace::Activities& activities = run.TraceOf(device).activities;
  for (const RowId row : device.activities) {
    if (run.ClassOf(device, row) != trace::KernelClass::kCommunication) {
      continue;
    }
    const std::int64_t begin_ns = activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + activities.duration_ns[row];
    const std::int64_t split_ns = std::clamp(WaitEndOf(run, device, row, ends), begin_ns, end_ns);
    waiting.push_back({begin_ns, split_ns});
    transfer.push_back({split_ns, end_ns});
  }
  return {.waiting = IntervalSet::Of(waiting), .transfer = IntervalSet::Of(transfer)};
}

DeviceParts PartsOf(const RunView& run, const DeviceView& device,
                    const std::vector<WaitEnd>& ends) {
  const Communication all = SplitCommunication(run, device, ends);
  // Clipped to the windows, as the sets of the device are.
  const IntervalSet transfer = Intersection(all.transfer, device.communication);
  const IntervalSet waiting = Intersection(all.waiting, device.communication);
  return {device.compute, Difference(transfer, device.compute),
          Difference(waiting, Union(device.compute, transfer)),
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
  const std::vector<std::vector<WaitEnd>> ends = WaitEndsOfRanks(run);
  std::vector<DeviceParts> parts(run.devices.size());
  ParallelFor(run.devices.size(), run.options.threads, [&](std::size_t device) {
    parts[device] = PartsOf(run, run.devices[device], ends[run.devices[device].rank_index]);
  });
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
  StepTimeline timeline{.step = chosen.step == trace::kNoRow
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
