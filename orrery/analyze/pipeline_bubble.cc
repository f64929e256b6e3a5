#include "orrery/analyze/pipeline_bubble.h"

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <optional>

#include "orrery/analyze/communication_parts.h"
#include "orrery/analyze/dimension.h"

namespace orrery::analyze {
namespace {

using trace::CollectiveKind;

// Ranks joined by pairs of send and receive: a forest of rank indices.
class RankGroups {
 public:
  explicit RankGroups(std::size_t count) : parent_(count) {
    std::iota(parent_.begin(), parent_.end(), 0U);
  }

  std::uint32_t Find(std::uint32_t rank) {
    while (parent_[rank] != rank) {
      rank = parent_[rank] = parent_[parent_[rank]];
    }
    return rank;
  }

  void Join(std::uint32_t a, std::uint32_t b) {
    a = Find(a);
    b = Find(b);
    parent_[std::max(a, b)] = std::min(a, b);
  }

 private:
  std::vector<std::uint32_t> parent_;
};

std::map<std::uint32_t, std::vector<const DeviceView*>> PipelineGroups(const RunView& run) {
  RankGroups groups(run.set->ranks.size());
  const auto& matched = run.matched;
  for (std::size_t instance = 0; instance < matched.size(); ++instance) {
    const CollectiveKind kind = matched.instances.kind[instance];
    const std::uint32_t first = matched.instances.first_member[instance];
    if (kind != CollectiveKind::kSend || matched.instances.num_members[instance] != 2) {
      continue;
    }
    const std::uint32_t rank_index = matched.members.rank_index[first];
    groups.Join(rank_index, matched.members.rank_index[first + 1]);
  }
  std::map<std::uint32_t, std::vector<const DeviceView*>> result;
  for (const DeviceView& device : run.devices) {
    result[groups.Find(device.rank_index)].push_back(&device);
  }
  std::erase_if(result, [](const auto& group) { return group.second.size() < 2; });
  return result;
}

// What one stage did in one step.
struct Stage {
  Interval own;  // from its first activity of the step to the end of its last
  IntervalSet useful;
  IntervalSet pipeline_waits;
};

IntervalSet Merge(const IntervalSet& a, const IntervalSet& b, const IntervalSet& c) {
  return Union(Union(a, b), c);
}

Stage StageOf(const RunView& run, const DeviceView& device, const Window& window) {
  Stage stage{
      .own = {window.time.begin_ns, window.last_end_ns}, .useful = {}, .pipeline_waits = {}};
  std::vector<Interval> useful;
  std::vector<Interval> waits;
  for (const CommunicationPart& part : CommunicationParts(run, device)) {
    if (part.dimension == Dimension::kPipeline) {
      useful.push_back({part.useful_ns, part.time.end_ns});
      waits.push_back({part.time.begin_ns, part.useful_ns});
    } else {
      useful.push_back(part.time);
    }
  }
  stage.useful = Clipped(Merge(device.compute, device.memory, IntervalSet::Of(useful)), stage.own);
  stage.pipeline_waits = Clipped(IntervalSet::Of(waits), stage.own);
  return stage;
}

// The launch of the first activity that begins when an idle interval ends.
std::optional<std::int64_t> LaunchOfNext(const RunView& run, const DeviceView& device,
                                         std::int64_t time_ns) {
  const trace::Trace& trace = run.TraceOf(device);
  const auto next = std::ranges::lower_bound(
      device.activities, time_ns, {}, [&](RowId row) { return trace.activities.begin_ns[row]; });
  if (next == device.activities.end() || trace.activities.launch[*next] == kNoRow) {
    return std::nullopt;
  }
  return trace.runtime_calls.begin_ns[trace.activities.launch[*next]];
}

void ClassifyIdle(const RunView& run, const DeviceView& device, const Stage& stage,
                  Interval group_window, StageTime& time) {
  IntervalSet whole;
  whole.Append(group_window.begin_ns, group_window.end_ns);
  time.useful_ns = stage.useful.length_ns();
  if (stage.useful.empty()) {
    time.edge_ns = whole.length_ns();
    return;
  }
  const std::int64_t first_ns = stage.useful.intervals().front().begin_ns;
  const std::int64_t last_ns = stage.useful.intervals().back().end_ns;
  time.edge_ns = (first_ns - group_window.begin_ns) + (group_window.end_ns - last_ns);
  const IntervalSet idle = Difference(Clipped(whole, {first_ns, last_ns}), stage.useful);
  time.p2p_wait_ns = OverlapNs(idle, stage.pipeline_waits);
  // What is left after the cut at the boundaries of the waits.
  const IntervalSet rest = Difference(idle, stage.pipeline_waits);
  for (const Interval& gap : rest.intervals()) {
    const auto launch_ns = LaunchOfNext(run, device, gap.end_ns);
    const bool is_host = launch_ns && *launch_ns > gap.begin_ns;
    (is_host ? time.host_ns : time.other_ns) += gap.length_ns();
  }
}

const Window* WindowOf(const DeviceView& device, std::int64_t number) {
  const auto found = std::ranges::find(device.windows, number, &Window::number);
  return found == device.windows.end() ? nullptr : &*found;
}

std::optional<PipelineStep> MeasureStep(const RunView& run,
                                        const std::vector<const DeviceView*>& devices,
                                        std::int64_t number) {
  PipelineStep step{.step = number, .stages = {}};
  std::vector<Stage> stages;
  Interval whole{INT64_MAX, INT64_MIN};
  for (const DeviceView* const device : devices) {
    const Window* const window = WindowOf(*device, number);
    if (window == nullptr) {
      return std::nullopt;
    }
    stages.push_back(StageOf(run, *device, *window));
    whole.begin_ns = std::min(whole.begin_ns, stages.back().own.begin_ns);
    whole.end_ns = std::max(whole.end_ns, stages.back().own.end_ns);
  }
  for (std::size_t i = 0; i < stages.size(); ++i) {
    StageTime& time = step.stages.emplace_back();
    time.rank = devices[i]->rank;
    time.window_ns = whole.length_ns();
    ClassifyIdle(run, *devices[i], stages[i], whole, time);
  }
  return step;
}

}  // namespace

std::vector<PipelineStep> MeasurePipelines(const RunView& run) {
  std::vector<PipelineStep> steps;
  for (const auto& [lowest, devices] : PipelineGroups(run)) {
    for (const Window& window : devices.front()->windows) {
      if (auto step = MeasureStep(run, devices, window.number)) {
        steps.push_back(*std::move(step));
      }
    }
  }
  return steps;
}

}  // namespace orrery::analyze
