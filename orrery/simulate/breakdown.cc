#include "orrery/simulate/breakdown.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/parallel.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::LaneId;
using workload::LaneKind;
using workload::Program;
using workload::TaskId;
using workload::TaskKind;

constexpr std::string_view kPipeline = "pp";

/// What a stream does for a while.
struct Segment {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  LaneId lane = 0;
  TimeKind kind = TimeKind::kCompute;
  std::string what = {};
  std::int64_t launched_ps = 0;  // when the host had handed it over

  [[nodiscard]] auto Order() const { return std::tuple(begin_ps, lane, end_ps); }
};

/// What a rank class's streams do in one repetition.
class SegmentList {
 public:
  SegmentList(const Program& program, const Timeline& timeline, std::size_t first)
      : program_(program), timeline_(timeline), first_(first) {
    for (TaskId task = 0; task < program.tasks.size(); ++task) {
      if (program.lanes.kind[program.tasks.lane[task]] == LaneKind::kStream) {
        AddTask(task);
      } else {
        host_end_ps_ = std::max(host_end_ps_, timeline.end_ps[first + task]);
      }
    }
    std::ranges::sort(segments_, {}, &Segment::Order);
  }

  [[nodiscard]] const std::vector<Segment>& segments() const { return segments_; }

  [[nodiscard]] std::int64_t host_end_ps() const { return host_end_ps_; }

  /// Whether the rank has messages of a pipeline, which a pause may wait for.
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
    Add(task, begin_ps, transfer_ps, is_pipeline ? TimeKind::kBubble : TimeKind::kWait,
        is_pipeline ? std::string() : dimension);
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
  std::vector<Segment> segments_;
  std::int64_t host_end_ps_ = 0;
  bool is_in_pipeline_ = false;
};

/// Divides time into slices; at every instant the first kind of what happens counts.
class Sweep {
 public:
  Sweep(const SegmentList& list, std::int64_t begin_ps, std::int64_t end_ps)
      : list_(list), now_ps_(begin_ps), end_ps_(end_ps) {}

  std::vector<TimeSlice> Run() {
    for (const Segment& segment : list_.segments()) {
      AdvanceTo(segment.begin_ps, segment.launched_ps);
      if (segment.end_ps > now_ps_) {
        active_.push_back(&segment);
      }
    }
    AdvanceTo(end_ps_, list_.host_end_ps());
    return std::move(slices_);
  }

 private:
  // Fills the time up to `to_ps`; a gap before it is host time until `launched_ps`.
  void AdvanceTo(std::int64_t to_ps, std::int64_t launched_ps) {
    to_ps = std::min(to_ps, end_ps_);
    while (now_ps_ < to_ps && !active_.empty()) {
      const Segment& first = *std::ranges::min(active_, {}, [](const Segment* segment) {
        return std::pair(segment->kind, segment->lane);
      });
      const std::int64_t next_end_ps = std::ranges::min(active_, {}, &Segment::end_ps)->end_ps;
      Fill(std::min(to_ps, next_end_ps), first.kind, first.what, IsCommunication(first));
      std::erase_if(active_, [&](const Segment* segment) { return segment->end_ps <= now_ps_; });
    }
    if (now_ps_ < to_ps) {
      Fill(std::clamp(launched_ps, now_ps_, to_ps), TimeKind::kHost, "", false);
      Fill(to_ps, list_.is_in_pipeline() ? TimeKind::kBubble : TimeKind::kIdle, "", false);
    }
  }

  // No segment stands for a gap: one of kind kBubble is a message that is awaited.
  [[nodiscard]] static bool IsCommunication(const Segment& segment) {
    return segment.kind != TimeKind::kCompute && segment.kind != TimeKind::kOptimizer;
  }

  void Fill(std::int64_t until_ps, TimeKind kind, const std::string& what, bool communicates) {
    if (until_ps <= now_ps_) {
      return;
    }
    if (!slices_.empty() && slices_.back().kind == kind && slices_.back().what == what &&
        slices_.back().communicates == communicates) {
      slices_.back().end_ps = until_ps;
    } else {
      slices_.push_back({now_ps_, until_ps, kind, what, communicates});
    }
    now_ps_ = until_ps;
  }

  const SegmentList& list_;
  std::int64_t now_ps_;
  std::int64_t end_ps_;
  std::vector<const Segment*> active_;  // at most one of a lane
  std::vector<TimeSlice> slices_;
};

struct ClassEnd {
  std::int64_t end_ps = 0;
  std::int64_t kernel_ps = 0;

  auto operator<=>(const ClassEnd&) const = default;
};

ClassEnd EndOf(const RankClasses& rank_classes, const Timeline& timeline, RankClassId rank_class,
               int repetition) {
  const Program& program = rank_classes.ProgramOf(rank_class);
  const std::size_t first = timeline.First(rank_class, repetition);
  ClassEnd end;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    end.end_ps = std::max(end.end_ps, timeline.end_ps[first + task]);
    if (program.tasks.kind[task] == TaskKind::kKernel) {
      end.kernel_ps += timeline.end_ps[first + task] - timeline.StartPs(first + task);
    }
  }
  return end;
}

std::int64_t EndOfAll(const RankClasses& rank_classes, const Timeline& timeline, int repetition) {
  std::int64_t end_ps = 0;
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    end_ps = std::max(end_ps, EndOf(rank_classes, timeline, rank_class, repetition).end_ps);
  }
  return end_ps;
}

/// Whose time is divided, from when to when.
struct Window {
  RankClassId rank_class = 0;
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
};

Window WindowOf(const RankClasses& rank_classes, const Timeline& timeline,
                const BreakdownOptions& options) {
  const int repetition = options.repetition;
  Window window;
  window.rank_class = options.rank_class
                          ? *options.rank_class
                          : SlowestRankClass(rank_classes, timeline, options.repetition);
  window.begin_ps = repetition == 0 ? 0 : EndOfAll(rank_classes, timeline, repetition - 1);
  const std::int64_t end_ps = repetition + 1 == timeline.repetitions
                                  ? timeline.EndPs()
                                  : EndOfAll(rank_classes, timeline, repetition);
  window.end_ps = std::max(window.begin_ps, end_ps);
  return window;
}

std::vector<TimeSlice> SlicesIn(const RankClasses& rank_classes, const Timeline& timeline,
                                const Window& window, int repetition) {
  const SegmentList list(rank_classes.ProgramOf(window.rank_class), timeline,
                         timeline.First(window.rank_class, repetition));
  return Sweep(list, window.begin_ps, window.end_ps).Run();
}

bool IsAlone(const RankClasses& rank_classes, RankClassId rank_class, std::uint32_t role) {
  const GroupClassId group = rank_classes.GroupOf(rank_class, role);
  return group != workload::kNoGroup && rank_classes.groups[group].num_ranks < 2;
}

std::int64_t ExposedPs(const Breakdown& breakdown, const std::string& dimension) {
  std::int64_t exposed_ps = 0;
  for (const TimeShare& share : breakdown.shares) {
    const bool is_communication =
        share.kind == TimeKind::kTransfer || share.kind == TimeKind::kWait;
    exposed_ps += is_communication && share.what == dimension ? share.ps : 0;
  }
  return exposed_ps;
}

}  // namespace

std::string_view Name(TimeKind kind) {
  constexpr std::array<std::string_view, 7> kNames = {"compute", "optimizer", "transfer", "bubble",
                                                      "wait",    "host",      "idle"};
  return kNames[static_cast<std::size_t>(kind)];
}

std::int64_t Breakdown::TotalPs(TimeKind kind) const {
  std::int64_t total_ps = 0;
  for (const TimeShare& share : shares) {
    total_ps += share.kind == kind ? share.ps : 0;
  }
  return total_ps;
}

std::string DimensionOf(const Program& program, std::uint32_t role) {
  if (role >= program.roles.size()) {
    return fmt::format("role {}", role);
  }
  const std::string_view name = program.strings.View(program.roles[role]);
  return std::string(name.substr(0, name.find(' ')));
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

RankClassId SlowestRankClass(const RankClasses& rank_classes, const Timeline& timeline,
                             int repetition) {
  RankClassId slowest = 0;
  ClassEnd latest;
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    const ClassEnd end = EndOf(rank_classes, timeline, rank_class, repetition);
    if (end > latest) {
      latest = end;
      slowest = rank_class;
    }
  }
  return slowest;
}

Breakdown BreakdownOf(const RankClasses& rank_classes, const Timeline& timeline,
                      const BreakdownOptions& options) {
  const Window window = WindowOf(rank_classes, timeline, options);
  std::map<std::pair<TimeKind, std::string>, std::int64_t> times;
  for (const TimeSlice& slice : SlicesIn(rank_classes, timeline, window, options.repetition)) {
    times[{slice.kind, slice.what}] += slice.end_ps - slice.begin_ps;
  }
  Breakdown breakdown{
      .rank_class = window.rank_class, .step_ps = window.end_ps - window.begin_ps, .shares = {}};
  for (const auto& [key, ps] : times) {
    breakdown.shares.push_back({key.first, key.second, ps});
  }
  return breakdown;
}

std::vector<TimeSlice> SlicesOf(const RankClasses& rank_classes, const Timeline& timeline,
                                const BreakdownOptions& options) {
  return SlicesIn(rank_classes, timeline, WindowOf(rank_classes, timeline, options),
                  options.repetition);
}

std::vector<std::int64_t> ExposedPsOfRankClasses(const RankClasses& rank_classes,
                                                 const Timeline& timeline) {
  const Window step = WindowOf(rank_classes, timeline, {.rank_class = 0});
  std::vector<std::int64_t> exposed_ps(rank_classes.classes.size());
  ParallelFor(rank_classes.classes.size(), 0, [&](std::size_t i) {
    const Window window{static_cast<RankClassId>(i), step.begin_ps, step.end_ps};
    for (const TimeSlice& slice : SlicesIn(rank_classes, timeline, window, 0)) {
      exposed_ps[i] += slice.communicates ? slice.end_ps - slice.begin_ps : 0;
    }
  });
  return exposed_ps;
}

std::vector<DimensionTotal> DimensionTotals(const RankClasses& rank_classes,
                                            const Timeline& timeline, const Breakdown& breakdown) {
  const workload::Program& program = rank_classes.ProgramOf(breakdown.rank_class);
  const std::size_t first = timeline.First(breakdown.rank_class);
  std::map<std::string, DimensionTotal> totals;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    const workload::CommunicationId communication = program.tasks.communication[task];
    if (communication == kNone ||
        IsAlone(rank_classes, breakdown.rank_class, program.communications.role[communication])) {
      continue;
    }
    DimensionTotal& total =
        totals[DimensionOf(program, program.communications.role[communication])];
    const std::int64_t begin_ps = timeline.begin_ps[first + task];
    const std::int64_t moving_ps = std::max(begin_ps, timeline.transfer_ps[first + task]);
    ++total.calls;
    total.bytes += program.communications.bytes[communication];
    total.wait_ps += moving_ps - begin_ps;
    total.transfer_ps += timeline.end_ps[first + task] - moving_ps;
  }
  std::vector<DimensionTotal> sorted;
  for (auto& [dimension, total] : totals) {
    total.dimension = dimension;
    total.exposed_ps = ExposedPs(breakdown, dimension);
    sorted.push_back(total);
  }
  std::ranges::stable_sort(sorted, std::greater{}, &DimensionTotal::exposed_ps);
  return sorted;
}

std::int64_t MeanExposedPs(const RankClasses& rank_classes, const Timeline& timeline) {
  const std::vector<std::int64_t> exposed_ps = ExposedPsOfRankClasses(rank_classes, timeline);
  std::int64_t ranks = 0;
  double sum_ps = 0;
  for (std::size_t rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    const std::uint32_t multiplicity = rank_classes.classes[rank_class].multiplicity;
    ranks += multiplicity;
    sum_ps += static_cast<double>(exposed_ps[rank_class]) * multiplicity;
  }
  return ranks == 0 ? 0 : static_cast<std::int64_t>(sum_ps / static_cast<double>(ranks));
}

}  // namespace orrery::simulate
