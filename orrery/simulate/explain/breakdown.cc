#include "orrery/simulate/explain/breakdown.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <map>
#include <ranges>
#include <span>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "orrery/analyze/breakdown/time_parts.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/rank_classes.h"
#include "orrery/simulate/explain/pipeline_drain.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {
namespace {

using analyze::TimePart;
using workload::kNone;
using workload::LaneId;
using workload::LaneKind;
using workload::Program;
using workload::TaskId;
using workload::TaskKind;

struct KindText {
  std::string_view key;
  std::string_view before = "";  // the category or dimension in the text for people
};

// In the order of TimeKind.
constexpr std::array<KindText, 8> kKindTexts = {{
    {"compute"},
    {"optimizer", "optimizer"},
    {"exposed"},
    {"bubble", "pipeline bubble"},
    {"wait", "waiting for others in "},
    {"memory", "memcpy and memset"},
    {"host", "waiting for the CPU"},
    {"idle", "between kernels"},
}};

/// Work of a stream for a while.
struct Segment {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  LaneId lane = 0;
  TimeKind kind = TimeKind::kCompute;
  std::string what = {};
  std::int64_t launched_ps = 0;  // when the host had handed it over

  [[nodiscard]] auto Order() const { return std::tuple(begin_ps, lane, end_ps); }
};

/// The work of a rank class's streams in a step.
class SegmentList {
 public:
  SegmentList(const RankClasses& rank_classes, const Timeline& timeline, RankClassId rank_class)
      : program_(rank_classes.ProgramOf(rank_class)),
        timeline_(timeline),
        first_(timeline.First(rank_class)),
        drain_(rank_classes, timeline, rank_class) {
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      if (program_.lanes.kind[program_.tasks.lane[task]] == LaneKind::kStream) {
        AddTask(task);
      } else {
        host_end_ps_ = std::max(host_end_ps_, timeline.end_ps[first_ + task]);
      }
    }
    std::ranges::sort(segments_, {}, &Segment::Order);
  }

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

  [[nodiscard]] std::int64_t host_end_ps() const { return host_end_ps_; }

  /// True if the rank has messages of a pipeline, which a pause may wait for.
  [[nodiscard]] bool is_in_pipeline() const { return is_in_pipeline_; }

 private:
  void AddTask(TaskId task) {
    const workload::CommunicationId communication = program_.tasks.communication[task];
    if (program_.tasks.kind[task] == TaskKind::kCollective || communication != kNone) {
      AddCommunication(task, communication);
    } else if (program_.tasks.kind[task] == TaskKind::kKernel) {
      AddKernel(task);
    }
  }

  void AddKernel(TaskId task) {
    const workload::PartId part = program_.tasks.part[task];
    const bool is_optimizer =
        part != kNone && program_.parts.phase[part] == workload::Phase::kOptimizer;
    std::string category(part == kNone ? "" : program_.strings.View(program_.parts.category[part]));
    if (category.empty()) {
      category = "other";
    }
    Add(task, timeline_.StartPs(first_ + task), timeline_.end_ps[first_ + task],
        is_optimizer ? TimeKind::kOptimizer : TimeKind::kCompute,
        is_optimizer ? std::string() : category);
  }

  void AddCommunication(TaskId task, workload::CommunicationId communication) {
    const std::string dimension =
        communication == kNone ? std::string("other")
                               : DimensionOf(program_, program_.communications.role[communication]);
    const std::int64_t begin_ps = timeline_.begin_ps[first_ + task];
    const std::int64_t transfer_ps = std::max(begin_ps, timeline_.transfer_ps[first_ + task]);
    const bool is_pipeline = dimension == kPipeline;
    is_in_pipeline_ = is_in_pipeline_ || is_pipeline;
    const std::int64_t wait_ps = transfer_ps - begin_ps;
    const std::int64_t bubble_ps =
        is_pipeline ? wait_ps
        : communication == kNone
            ? 0
            : drain_.BubblePs(program_.communications.role[communication], transfer_ps, wait_ps);
    Add(task, begin_ps, begin_ps + bubble_ps, TimeKind::kBubble, "");
    Add(task, begin_ps + bubble_ps, transfer_ps, TimeKind::kWait, dimension);
    Add(task, transfer_ps, timeline_.end_ps[first_ + task], TimeKind::kTransfer, dimension);
  }

  void Add(TaskId task, std::int64_t begin_ps, std::int64_t end_ps, TimeKind kind,
           const std::string& what) {
    if (begin_ps == end_ps) {
      return;
    }
    const TaskId launch = program_.tasks.launch[task];
    segments_.push_back(
        {.begin_ps = begin_ps,
         .end_ps = end_ps,
         .lane = program_.tasks.lane[task],
         .kind = kind,
         .what = what,
         .launched_ps =
             launch == kNone ? 0 : timeline_.end_ps[first_ + launch] + program_.launch_latency_ps});
  }

  const Program& program_;
  const Timeline& timeline_;
  std::size_t first_;
  PipelineDrain drain_;
  std::vector<Segment> segments_;
  std::int64_t host_end_ps_ = 0;
  bool is_in_pipeline_ = false;
};

// Divides the time in which several transfer evenly among them, as the analysis of traces does.
void ShareEvenly(std::span<TimePart> transfers) {
  std::vector<std::int64_t> cuts;
  for (const TimePart& transfer : transfers) {
    for (const Interval& time : transfer.time.intervals()) {
      cuts.insert(cuts.end(), {time.begin_ns, time.end_ns});
    }
  }
  std::ranges::sort(cuts);
  std::vector<IntervalSet> shares(transfers.size());
  for (std::size_t i = 1; i < cuts.size(); ++i) {
    std::vector<std::size_t> active;
    for (std::size_t j = 0; j < transfers.size() && cuts[i - 1] < cuts[i]; ++j) {
      if (transfers[j].time.LengthWithin(cuts[i - 1], cuts[i]) > 0) {
        active.push_back(j);
      }
    }
    const auto sharers = static_cast<std::int64_t>(active.size());
    const std::int64_t length = cuts[i] - cuts[i - 1];
    for (std::int64_t j = 0; j < sharers; ++j) {
      shares[active[static_cast<std::size_t>(j)]].Append(cuts[i - 1] + length * j / sharers,
                                                         cuts[i - 1] + length * (j + 1) / sharers);
    }
  }
  for (std::size_t j = 0; j < transfers.size(); ++j) {
    transfers[j].time = std::move(shares[j]);
  }
}

// Transfers that no kernel hides, by dimension.
std::vector<TimePart> ExposedTransfers(const std::vector<Segment>& segments,
                                       const IntervalSet& kernels, Interval window) {
  std::map<std::string, std::vector<Interval>> by_dimension;
  for (const Segment& segment : segments) {
    if (segment.kind == TimeKind::kTransfer) {
      by_dimension[segment.what].push_back({segment.begin_ps, segment.end_ps});
    }
  }
  std::vector<TimePart> transfers;
  for (const auto& [dimension, times] : by_dimension) {
    transfers.push_back({TimeKind::kTransfer, dimension,
                         Difference(Clipped(IntervalSet::Of(times), window), kernels)});
  }
  ShareEvenly(transfers);
  return transfers;
}

// The work of the streams in a window; at every instant the first kind counts, then the first
// stream.
std::vector<TimePart> BusyParts(const std::vector<Segment>& segments, Interval window) {
  std::map<std::tuple<TimeKind, LaneId, std::string>, IntervalSet> times;
  IntervalSet kernels;
  for (const Segment& segment : segments) {
    if (segment.kind != TimeKind::kTransfer) {
      times[{segment.kind, segment.lane, segment.what}].Append(segment.begin_ps, segment.end_ps);
    }
  }
  std::vector<TimePart> of_lanes;
  for (const auto& [key, time] : times) {
    const auto& [kind, lane, what] = key;
    of_lanes.push_back({kind, what, Clipped(time, window)});
    if (kind < TimeKind::kTransfer) {
      kernels = Union(kernels, of_lanes.back().time);
    }
  }
  const std::vector<TimePart> transfers = ExposedTransfers(segments, kernels, window);
  of_lanes.insert(std::ranges::upper_bound(of_lanes, TimeKind::kTransfer, {}, &TimePart::kind),
                  transfers.begin(), transfers.end());
  MakeExclusive(of_lanes);
  std::map<std::pair<TimeKind, std::string>, TimePart> parts;
  for (const TimePart& part : of_lanes) {
    TimePart& all = parts.try_emplace({part.kind, part.what}, part).first->second;
    all.time = Union(all.time, part.time);
  }
  const auto values = std::views::values(parts);
  return {values.begin(), values.end()};
}

// A gap is host time until the segment that ends it is launched.
std::vector<TimePart> GapParts(const SegmentList& list, const IntervalSet& gaps) {
  TimePart host{TimeKind::kHost};
  TimePart rest{list.is_in_pipeline() ? TimeKind::kBubble : TimeKind::kIdle};
  for (const Interval& gap : gaps.intervals()) {
    const auto next = std::ranges::lower_bound(list.segments(), gap.end_ns, {}, &Segment::begin_ps);
    const std::int64_t launched_ps =
        next == list.segments().end() ? list.host_end_ps() : next->launched_ps;
    const std::int64_t host_end_ps = std::clamp(launched_ps, gap.begin_ns, gap.end_ns);
    host.time.Append(gap.begin_ns, host_end_ps);
    rest.time.Append(host_end_ps, gap.end_ns);
  }
  return {host, rest};
}

void AddSlices(const TimePart& part, bool communicates, std::vector<TimeSlice>& slices) {
  for (const Interval& time : part.time.intervals()) {
    slices.push_back({time.begin_ns, time.end_ns, part.kind, part.what, communicates});
  }
}

std::int64_t KernelPs(const RankClasses& rank_classes, const Timeline& timeline,
                      RankClassId rank_class) {
  const Program& program = rank_classes.ProgramOf(rank_class);
  const std::size_t first = timeline.First(rank_class);
  std::int64_t kernel_ps = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.tasks.kind[task] == TaskKind::kKernel) {
      kernel_ps += timeline.end_ps[first + task] - timeline.StartPs(first + task);
    }
  }
  return kernel_ps;
}

bool IsOwnWork(const TimeShare& share) {
  return share.kind == TimeKind::kCompute || share.kind == TimeKind::kOptimizer ||
         (share.kind == TimeKind::kTransfer && share.what != kPipeline);
}

std::vector<TimeSlice> SlicesWithin(Interval time, const RankClasses& rank_classes,
                                    const Timeline& timeline, RankClassId rank_class) {
  const SegmentList list(rank_classes, timeline, rank_class);
  IntervalSet gaps = IntervalSet::Of({&time, 1});
  std::vector<TimeSlice> slices;
  for (const TimePart& part : BusyParts(list.segments(), time)) {
    gaps = Difference(gaps, part.time);
    AddSlices(part, part.kind != TimeKind::kCompute && part.kind != TimeKind::kOptimizer, slices);
  }
  for (const TimePart& part : GapParts(list, gaps)) {
    AddSlices(part, false, slices);
  }
  std::ranges::sort(slices, {}, &TimeSlice::begin_ps);
  return slices;
}

}  // namespace

std::string ShareKey(const TimeShare& share) {
  const std::string key(kKindTexts[static_cast<std::size_t>(share.kind)].key);
  return share.what.empty() ? key : fmt::format("{}.{}", key, share.what);
}

std::string ShareText(const TimeShare& share) {
  if (share.what == "products" || share.what == "copies") {  // the keys of these categories
    return share.what == "products" ? "GEMMs" : "memcpy";
  }
  if (share.kind == TimeKind::kTransfer) {
    return CommunicationText(share.what) + ", exposed";
  }
  if (share.kind == TimeKind::kWait && share.what == kAllRanks) {
    return "waiting in " + CommunicationText(share.what);
  }
  return fmt::format("{}{}", kKindTexts[static_cast<std::size_t>(share.kind)].before, share.what);
}

std::string CommunicationText(std::string_view dimension) {
  return dimension == kAllRanks ? "global synchronisation"
                                : fmt::format("{} communication", dimension);
}

std::int64_t Breakdown::TotalPs(TimeKind kind) const {
  std::int64_t total_ps = 0;
  for (const TimeShare& share : shares) {
    total_ps += share.kind == kind ? share.ps : 0;
  }
  return total_ps;
}

std::vector<TimeShare> Breakdown::LargestFirst() const {
  std::vector<TimeShare> sorted = shares;
  std::ranges::stable_sort(sorted, {},
                           [](const TimeShare& share) { return std::pair(share.kind, -share.ps); });
  return sorted;
}

std::int64_t BusyPs(const Breakdown& breakdown) {
  std::int64_t busy_ps = 0;
  for (const TimeShare& share : breakdown.shares) {
    busy_ps += IsOwnWork(share) ? share.ps : 0;
  }
  return busy_ps;
}

std::vector<RankClassId> SlowestOfPrograms(const RankClasses& rank_classes,
                                           const Timeline& timeline) {
  std::map<workload::ProgramId, std::pair<std::int64_t, RankClassId>> most_of_program;
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    const std::int64_t kernel_ps = KernelPs(rank_classes, timeline, rank_class);
    const auto [most, is_new] = most_of_program.try_emplace(
        rank_classes.classes[rank_class].program, kernel_ps, rank_class);
    if (!is_new && kernel_ps > most->second.first) {
      most->second = {kernel_ps, rank_class};
    }
  }
  std::vector<RankClassId> slowest;
  for (const auto& [program, most] : most_of_program) {
    slowest.push_back(most.second);
  }
  return slowest;
}

std::string DimensionOf(const Program& program, std::uint32_t role) {
  if (role >= program.roles.size()) {
    return fmt::format("role {}", role);
  }
  return std::string(program.strings.View(program.roles.dimension[role]));
}

bool HasPipeline(const RankClasses& rank_classes) {
  return std::ranges::any_of(rank_classes.programs, [](const Program* program) {
    const auto& spoken = program->communications.role;
    for (std::uint32_t role = 0; role < program->roles.size(); ++role) {
      if (DimensionOf(*program, role) == kPipeline &&
          std::ranges::find(spoken, role) != spoken.end()) {
        return true;
      }
    }
    return false;
  });
}

Breakdown BreakdownOf(const RankClasses& rank_classes, const Timeline& timeline,
                      RankClassId rank_class) {
  Breakdown breakdown{.rank_class = rank_class,
                      .step_ps = std::max<std::int64_t>(timeline.EndPs(), 0),
                      .shares = {}};
  std::map<std::pair<TimeKind, std::string>, std::int64_t> times;
  for (const TimeSlice& slice : SlicesOf(rank_classes, timeline, breakdown.rank_class)) {
    times[{slice.kind, slice.what}] += slice.end_ps - slice.begin_ps;
  }
  for (const auto& [key, ps] : times) {
    breakdown.shares.push_back({key.first, key.second, ps});
  }
  return breakdown;
}

std::vector<TimeSlice> SlicesOf(const RankClasses& rank_classes, const Timeline& timeline,
                                RankClassId rank_class, std::int64_t begin_ps) {
  return SlicesWithin({begin_ps, timeline.EndPs()}, rank_classes, timeline, rank_class);
}

}  // namespace orrery::simulate
