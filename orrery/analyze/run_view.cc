#include "orrery/analyze/run_view.h"

#include <algorithm>
#include <map>
#include <memory>
#include <utility>

#include "orrery/analyze/graph/graph_holder.h"
#include "orrery/analyze/windows.h"
#include "orrery/base/parallel.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

using trace::KernelClass;

std::map<std::int32_t, std::vector<RowId>> ActivitiesByDevice(const trace::Trace& trace) {
  std::map<std::int32_t, std::vector<RowId>> by_device;
  std::int32_t last_device = -1;
  std::vector<RowId>* rows = nullptr;
  for (RowId row = 0; row < trace.activities.size(); ++row) {
    const RowId track = trace.activities.track[row];
    const std::int32_t device = track == kNoRow ? -1 : trace.tracks.device[track];
    if (rows == nullptr || device != last_device) {
      rows = &by_device[device];
      last_device = device;
    }
    rows->push_back(row);
  }
  return by_device;
}

// Sets of the whole device, in one pass.
void UniteClasses(const trace::Trace& trace, const std::vector<KernelClass>& classes,
                  DeviceView& device) {
  for (const RowId row : device.activities) {
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace.activities.duration_ns[row];
    IntervalSet& set = classes[row] == KernelClass::kCommunication ? device.communication
                       : classes[row] == KernelClass::kMemory      ? device.memory
                                                                   : device.compute;
    set.Append(begin_ns, end_ns);
  }
}

IntervalSet WithinWindows(const IntervalSet& set, const std::vector<Window>& windows) {
  IntervalSet allowed;
  for (const Window& window : windows) {
    allowed.Append(window.time.begin_ns, window.time.end_ns);
  }
  return Intersection(set, allowed);
}

Breakdown BreakDown(const DeviceView& device, Interval window) {
  const IntervalSet compute = Clipped(device.compute, window);
  const IntervalSet communication = Clipped(device.communication, window);
  const IntervalSet kernels = Union(compute, communication);
  const std::int64_t kernels_ns = kernels.length_ns();
  const std::int64_t memory_ns = Difference(Clipped(device.memory, window), kernels).length_ns();
  return {.compute_ns = compute.length_ns(),
          .exposed_communication_ns = kernels_ns - compute.length_ns(),
          .exposed_memory_ns = memory_ns,
          .idle_ns = window.length_ns() - kernels_ns - memory_ns,
          .window_ns = window.length_ns(),
          .communication_ns = communication.length_ns()};
}

// Durations added up, each clipped to the window it meets. Windows are in order and disjoint.
void AddDurations(const trace::Trace& trace, const std::vector<KernelClass>& classes,
                  DeviceView& device) {
  for (const RowId row : device.activities) {
    if (classes[row] == KernelClass::kMemory) {
      continue;
    }
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace.activities.duration_ns[row];
    auto window = std::ranges::upper_bound(device.windows, begin_ns, {},
                                           [](const Window& w) { return w.time.end_ns; });
    for (; window != device.windows.end() && window->time.begin_ns < end_ns; ++window) {
      const std::int64_t inside_ns =
          std::min(end_ns, window->time.end_ns) - std::max(begin_ns, window->time.begin_ns);
      Breakdown& sums =
          device.breakdowns[static_cast<std::size_t>(window - device.windows.begin())];
      sums.kernel_sum_ns += inside_ns;
      sums.communication_sum_ns += classes[row] == KernelClass::kCommunication ? inside_ns : 0;
    }
  }
}

void CompleteDevice(const trace::Trace& trace, const std::vector<KernelClass>& classes,
                    const AnalyzeOptions& options, DeviceView& device) {
  device.windows = DeviceWindows(trace, device.activities, options);
  UniteClasses(trace, classes, device);
  device.compute = WithinWindows(device.compute, device.windows);
  device.communication = WithinWindows(device.communication, device.windows);
  device.memory = WithinWindows(device.memory, device.windows);
  for (const Window& window : device.windows) {
    device.breakdowns.push_back(BreakDown(device, window.time));
  }
  AddDurations(trace, classes, device);
  for (const Breakdown& breakdown : device.breakdowns) {
    device.total += breakdown;
  }
}

bool IsChosen(const AnalyzeOptions& options, std::int32_t rank) {
  return options.ranks.empty() || std::ranges::count(options.ranks, rank) > 0;
}

std::vector<DeviceView> DevicesOfRank(const trace::TraceSet& set, std::uint32_t rank_index,
                                      const std::vector<KernelClass>& classes,
                                      const AnalyzeOptions& options) {
  std::vector<DeviceView> devices;
  const trace::Trace& trace = set.ranks[rank_index];
  for (auto& [number, activities] : ActivitiesByDevice(trace)) {
    DeviceView& device = devices.emplace_back();
    device.rank_index = rank_index;
    device.rank = trace::RankOf(set, rank_index);
    device.device = number;
    device.activities = std::move(activities);
    CompleteDevice(trace, classes, options, device);
  }
  return devices;
}

IntervalSet SelectedTime(const std::vector<DeviceView>& devices) {
  std::vector<Interval> windows;
  for (const DeviceView& device : devices) {
    for (const Window& window : device.windows) {
      windows.push_back(window.time);
    }
  }
  return IntervalSet::Of(windows);
}

}  // namespace

Breakdown& Breakdown::operator+=(const Breakdown& other) {
  compute_ns += other.compute_ns;
  exposed_communication_ns += other.exposed_communication_ns;
  exposed_memory_ns += other.exposed_memory_ns;
  idle_ns += other.idle_ns;
  window_ns += other.window_ns;
  communication_ns += other.communication_ns;
  kernel_sum_ns += other.kernel_sum_ns;
  communication_sum_ns += other.communication_sum_ns;
  return *this;
}

bool RunView::IsSelected(std::uint32_t rank_index, std::int64_t begin_ns) const {
  return selected[rank_index].LengthWithin(begin_ns, begin_ns + 1) > 0;
}

bool RunView::Counts(std::size_t instance) const {
  const std::uint32_t first = matched.instances.first_member[instance];
  return waits.is_sound[instance] != 0 &&
         IsSelected(matched.members.rank_index[first], matched.members.begin_ns[first]);
}

std::vector<std::uint32_t> ChosenRanks(const RunView& run) {
  std::vector<std::uint32_t> chosen;
  for (const std::uint32_t place : trace::PlacesInRankOrder(*run.set)) {
    if (IsChosen(run.options, trace::RankOf(*run.set, place))) {
      chosen.push_back(place);
    }
  }
  return chosen;
}

RunView ViewRun(trace::TraceSet& set, std::vector<Measurement> measurements,
                const AnalyzeOptions& options) {
  RunView run;
  run.set = &set;
  run.options = options;
  run.graph = std::make_shared<GraphHolder>();
  run.measurements = std::move(measurements);
  trace::AlignedRun aligned = trace::MatchAndAlign(set, options.align);
  run.matched = std::move(aligned.matched);
  run.alignment = std::move(aligned.alignment);
  run.waits = SplitWaits(set, run.matched);
  run.selected.resize(set.ranks.size());
  run.classes.resize(set.ranks.size());
  std::vector<std::vector<DeviceView>> devices(set.ranks.size());
  ParallelFor(set.ranks.size(), options.threads, [&](std::size_t index) {
    run.classes[index] = trace::ClassifyActivities(set.ranks[index]);
    const auto rank_index = static_cast<std::uint32_t>(index);
    devices[index] = DevicesOfRank(set, rank_index, run.classes[index], options);
    run.selected[index] = SelectedTime(devices[index]);
  });
  for (const std::uint32_t place : trace::PlacesInRankOrder(set)) {
    if (IsChosen(options, trace::RankOf(set, place))) {
      std::ranges::move(devices[place], std::back_inserter(run.devices));
    }
  }
  return run;
}

}  // namespace orrery::analyze
