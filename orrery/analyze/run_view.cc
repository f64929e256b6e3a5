#include "orrery/analyze/run_view.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "orrery/analyze/breakdown/pipeline_drain.h"
#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/straggler/straggler_analysis.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/clock/clock_alignment.h"
#include "orrery/trace/collective/matched_collectives.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using trace::KernelClass;

constexpr std::int64_t kNever = std::numeric_limits<std::int64_t>::max();

// The extent of the activities that a step launched on one device.
struct StepExtent {
  std::int64_t first_begin_ns = kNever;
  std::int64_t last_end_ns = std::numeric_limits<std::int64_t>::min();

  [[nodiscard]] bool empty() const { return first_begin_ns == kNever; }
};

// Steps are in order of begin and do not overlap on a thread, so the last one that began decides.
std::optional<std::size_t> StepAt(const trace::Steps& steps, std::int64_t time_ns) {
  const auto after = std::ranges::upper_bound(steps.begin_ns, time_ns);
  if (after == steps.begin_ns.begin()) {
    return std::nullopt;
  }
  const auto step = static_cast<std::size_t>(after - steps.begin_ns.begin()) - 1;
  return time_ns < steps.begin_ns[step] + steps.duration_ns[step] ? std::optional(step)
                                                                  : std::nullopt;
}

std::vector<StepExtent> LaunchedExtents(const trace::Trace& trace,
                                        const std::vector<RowId>& activities) {
  std::vector<StepExtent> extents(trace.steps.size());
  for (const RowId row : activities) {
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const RowId launch = trace.activities.launch[row];
    // Activities without a recorded launch use their own begin.
    const auto step =
        StepAt(trace.steps, launch == kNoRow ? begin_ns : trace.runtime_calls.begin_ns[launch]);
    if (step) {
      StepExtent& extent = extents[*step];
      extent.first_begin_ns = std::min(extent.first_begin_ns, begin_ns);
      extent.last_end_ns =
          std::max(extent.last_end_ns, begin_ns + trace.activities.duration_ns[row]);
    }
  }
  return extents;
}

std::vector<StepExtent> MarkerExtents(const trace::Steps& steps) {
  std::vector<StepExtent> extents;
  for (std::size_t step = 0; step < steps.size(); ++step) {
    extents.push_back({steps.begin_ns[step], steps.begin_ns[step] + steps.duration_ns[step]});
  }
  return extents;
}

// The first later step that did something begins where this one ends.
std::int64_t WindowEnd(const std::vector<StepExtent>& extents, std::size_t step) {
  for (std::size_t next = step + 1; next < extents.size(); ++next) {
    if (!extents[next].empty()) {
      return extents[next].first_begin_ns;
    }
  }
  return extents[step].last_end_ns;
}

std::vector<Window> WholeRecording(const trace::Trace& trace,
                                   const std::vector<RowId>& activities) {
  if (activities.empty()) {
    return {};
  }
  Interval whole{trace.activities.begin_ns[activities.front()],
                 std::numeric_limits<std::int64_t>::min()};
  for (const RowId row : activities) {
    whole.end_ns =
        std::max(whole.end_ns, trace.activities.begin_ns[row] + trace.activities.duration_ns[row]);
  }
  return {{.time = whole, .last_end_ns = whole.end_ns}};
}

// Returns the selected steps of a rank on one device (see Window). Without steps: one window from
// the first to the last activity. Without launch calls the markers' own times are used.
std::vector<Window> DeviceWindows(const trace::Trace& trace, const std::vector<RowId>& activities,
                                  const AnalyzeOptions& options) {
  if (trace.steps.empty()) {
    return WholeRecording(trace, activities);
  }
  const bool has_launches = std::ranges::any_of(
      activities, [&](RowId row) { return trace.activities.launch[row] != kNoRow; });
  std::vector<StepExtent> extents =
      has_launches ? LaunchedExtents(trace, activities) : MarkerExtents(trace.steps);
  std::vector<Window> windows;
  for (const RowId step : SelectedSteps(trace, options)) {
    if (extents[step].empty()) {
      continue;
    }
    const Interval time{extents[step].first_begin_ns, WindowEnd(extents, step)};
    // A step whose work begins after that of the next one has no time of its own.
    if (time.begin_ns <= time.end_ns) {
      windows.push_back({.time = time,
                         .last_end_ns = extents[step].last_end_ns,
                         .step = step,
                         .number = trace.steps.number[step],
                         .marker_ns = trace.steps.duration_ns[step]});
    }
  }
  return windows;
}

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

IntervalSet WithinWindows(const IntervalSet& set, const std::vector<Window>& windows) {
  IntervalSet allowed;
  for (const Window& window : windows) {
    allowed.Append(window.time.begin_ns, window.time.end_ns);
  }
  return Intersection(set, allowed);
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
  // Sets of the whole device, in one pass.
  for (const RowId row : device.activities) {
    const std::int64_t begin_ns = trace.activities.begin_ns[row];
    const std::int64_t end_ns = begin_ns + trace.activities.duration_ns[row];
    IntervalSet& set = classes[row] == KernelClass::kCommunication ? device.communication
                       : classes[row] == KernelClass::kMemory      ? device.memory
                                                                   : device.compute;
    set.Append(begin_ns, end_ns);
  }
  device.compute = WithinWindows(device.compute, device.windows);
  device.communication = WithinWindows(device.communication, device.windows);
  device.memory = WithinWindows(device.memory, device.windows);
  for (const Window& window : device.windows) {
    std::vector<TimePart> parts = {
        {.kind = TimeKind::kCompute, .time = Clipped(device.compute, window.time)},
        {.kind = TimeKind::kTransfer, .time = Clipped(device.communication, window.time)},
        {.kind = TimeKind::kMemory, .time = Clipped(device.memory, window.time)}};
    const std::int64_t communication_ns = parts[1].time.length_ns();
    const std::int64_t busy_ns = MakeExclusive(parts).length_ns();
    device.breakdowns.push_back({.compute_ns = parts[0].time.length_ns(),
                                 .exposed_communication_ns = parts[1].time.length_ns(),
                                 .exposed_memory_ns = parts[2].time.length_ns(),
                                 .idle_ns = window.time.length_ns() - busy_ns,
                                 .window_ns = window.time.length_ns(),
                                 .communication_ns = communication_ns});
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

// When a member can begin to move data that counts.
class UsefulTime {
 public:
  UsefulTime(const trace::TraceSet& set, const trace::MatchedCollectives& matched,
             std::size_t instance)
      : set_(set),
        matched_(matched),
        instance_(instance),
        last_arrival_ns_(trace::LastArrivalNs(matched, instance)) {}

  [[nodiscard]] std::int64_t Of(std::uint32_t member) const {
    const std::int64_t begin_ns = matched_.members.begin_ns[member];
    switch (matched_.instances.kind[instance_]) {
      case CollectiveKind::kBroadcast:
      case CollectiveKind::kScatter: {
        const auto root = Root();
        return root ? std::max(begin_ns, matched_.members.begin_ns[*root]) : begin_ns;
      }
      case CollectiveKind::kReduce:
      case CollectiveKind::kGather:
        return Root() == member ? last_arrival_ns_ : begin_ns;
      case CollectiveKind::kSend:
        return IsBuffered() ? begin_ns : last_arrival_ns_;
      default:
        return last_arrival_ns_;
    }
  }

 private:
  [[nodiscard]] std::optional<std::uint32_t> Root() const {
    for (const std::uint32_t member : matched_.MembersOf(instance_)) {
      const std::uint32_t rank_index = matched_.members.rank_index[member];
      const RowId row = matched_.members.collective[member];
      const std::int32_t root = set_.ranks[rank_index].collectives.peer[row];
      if (root >= 0 && root == trace::RankOf(set_, rank_index)) {
        return member;
      }
    }
    return std::nullopt;
  }

  // Small messages are sent before the receive is posted.
  [[nodiscard]] bool IsBuffered() const {
    const std::uint32_t sender = matched_.instances.first_member[instance_];
    return matched_.instances.num_members[instance_] == 2 &&
           matched_.members.end_ns[sender] < matched_.members.begin_ns[sender + 1];
  }

  const trace::TraceSet& set_;
  const trace::MatchedCollectives& matched_;
  std::size_t instance_;
  std::int64_t last_arrival_ns_;
};

bool IsReliable(const trace::MatchedCollectives& matched, std::size_t instance,
                std::int64_t last_arrival_ns) {
  constexpr auto kDoubts =
      static_cast<std::uint8_t>(trace::match_flag::kUnreliable | trace::match_flag::kHostTimes);
  if (matched.Has(instance, kDoubts)) {
    return false;
  }
  if (!trace::IsSynchronising(matched.instances.kind[instance])) {
    return true;
  }
  return std::ranges::all_of(matched.MembersOf(instance), [&](std::uint32_t member) {
    return matched.members.end_ns[member] >= last_arrival_ns;
  });
}

}  // namespace

std::vector<RowId> SelectedSteps(const trace::Trace& trace, const AnalyzeOptions& options) {
  const std::size_t count = trace.steps.size();
  const bool drops_ends = !options.steps && count > 2;
  std::vector<RowId> selected;
  for (std::size_t step = drops_ends ? 1 : 0; step < count - (drops_ends ? 1 : 0); ++step) {
    const std::int64_t number = trace.steps.number[step];
    if (!options.steps || (options.steps->first <= number && number < options.steps->end)) {
      selected.push_back(static_cast<RowId>(step));
    }
  }
  return selected;
}

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
  return waits.is_reliable[instance] != 0 &&
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
  trace::AlignedRun aligned = trace::MatchAndAlign(set, options.align);
  return ViewRun(set, std::move(aligned), std::move(measurements), options);
}

RunView ViewRun(const trace::TraceSet& set, trace::AlignedRun aligned,
                std::vector<Measurement> measurements, const AnalyzeOptions& options) {
  RunView run;
  run.set = &set;
  run.options = options;
  run.graph = std::make_shared<GraphHolder>();
  run.stragglers = std::make_shared<StragglerHolder>();
  run.measurements = std::move(measurements);
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
    std::vector<Interval> windows;
    for (const DeviceView& device : devices[index]) {
      for (const Window& window : device.windows) {
        windows.push_back(window.time);
      }
    }
    run.selected[index] = IntervalSet::Of(windows);
  });
  for (const std::uint32_t place : trace::PlacesInRankOrder(set)) {
    if (IsChosen(options, trace::RankOf(set, place))) {
      std::ranges::move(devices[place], std::back_inserter(run.devices));
    }
  }
  run.waits.drain_ns = DrainWaits(run);
  return run;
}

std::int64_t CollectiveWaits::DrainOfRow(std::uint32_t rank_index, RowId row) const {
  const RowId member = drain_ns.empty() ? kNoRow : member_of_row[rank_index][row];
  return member == kNoRow ? 0 : drain_ns[member];
}

std::int64_t CollectiveWaits::WaitOfRow(const trace::MatchedCollectives& matched,
                                        std::uint32_t rank_index, RowId row) const {
  const RowId member = member_of_row[rank_index][row];
  if (member == kNoRow) {
    return 0;
  }
  const RowId instance = matched.ranks[rank_index].instance_of_row[row];
  return is_reliable[instance] != 0 ? wait_ns[member] : 0;
}

CollectiveWaits SplitWaits(const trace::TraceSet& set, const trace::MatchedCollectives& matched) {
  CollectiveWaits waits;
  // Members come in order of instance, so each rank's list is sorted.
  std::vector<std::vector<std::pair<std::uint32_t, RowId>>> by_instance(matched.ranks.size());
  for (std::uint32_t instance = 0; instance < matched.size(); ++instance) {
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      by_instance[matched.members.rank_index[member]].emplace_back(instance, member);
    }
  }
  std::vector<std::vector<RowId>> members(matched.ranks.size());
  for (std::size_t rank = 0; rank < matched.ranks.size(); ++rank) {
    for (const RowId instance : matched.ranks[rank].instance_of_row) {
      const auto found = std::ranges::lower_bound(by_instance[rank], instance, {},
                                                  &std::pair<std::uint32_t, RowId>::first);
      const bool is_member = found != by_instance[rank].end() && found->first == instance;
      members[rank].push_back(is_member ? found->second : kNoRow);
    }
  }
  waits.member_of_row = members;
  waits.wait_ns.resize(matched.members.size());
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    const UsefulTime useful(set, matched, instance);
    for (const std::uint32_t member : matched.MembersOf(instance)) {
      const std::int64_t begin_ns = matched.members.begin_ns[member];
      const std::int64_t duration_ns = matched.members.end_ns[member] - begin_ns;
      waits.wait_ns[member] =
          std::clamp<std::int64_t>(useful.Of(member) - begin_ns, 0, duration_ns);
    }
    const std::int64_t last_ns = trace::LastArrivalNs(matched, instance);
    waits.last_arrival_ns.push_back(last_ns);
    waits.last_member.push_back(trace::LastMember(matched, instance));
    waits.transfer_ns.push_back(trace::MinDurationNs(matched, instance));
    waits.is_reliable.push_back(IsReliable(matched, instance, last_ns) ? 1 : 0);
    waits.num_doubtful += waits.is_reliable.back() == 0 ? 1 : 0;
  }
  return waits;
}

}  // namespace orrery::analyze
