#include "orrery/simulate/ensemble_trace.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/simulate/collective_rows.h"
#include "orrery/simulate/memory_timeline.h"
#include "orrery/simulate/task_rows.h"
#include "orrery/trace/finish.h"

namespace orrery::simulate {
namespace {

using trace::Trace;
using workload::Program;
using workload::Rank;
using workload::TaskId;

/// When the repetitions of all ranks end.
std::vector<std::int64_t> StepEnds(const RankClasses& rank_classes, const Timeline& timeline) {
  std::vector<std::int64_t> ends(static_cast<std::size_t>(timeline.repetitions), 0);
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    for (int repetition = 0; repetition < timeline.repetitions; ++repetition) {
      std::int64_t& end_ps = ends[static_cast<std::size_t>(repetition)];
      const std::size_t first = timeline.First(rank_class, repetition);
      for (TaskId task = 0; task < rank_classes.ProgramOf(rank_class).tasks.size(); ++task) {
        end_ps = std::max(end_ps, timeline.end_ps[first + task]);
      }
    }
  }
  return ends;
}

/// Writes the trace of one rank.
class RankTrace {
 public:
  RankTrace(const RankClasses& rank_classes, const Timeline& timeline, const TracedRank& traced)
      : rank_classes_(rank_classes),
        timeline_(timeline),
        traced_(traced),
        program_(rank_classes.ProgramOf(traced.rank_class)) {}

  Trace Write(const std::string& gpu, const std::vector<std::int64_t>& step_ends_ps,
              bool marks_training_loop) {
    trace_.info.format = "Orrery prediction";
    trace_.info.rank = static_cast<std::int32_t>(traced_.rank);
    trace_.info.world_size = static_cast<std::int32_t>(rank_classes_.class_of_rank.size());
    trace_.info.time_origin = trace::TimeOrigin::kRecordingStart;
    trace_.devices.Append({.id = 0, .name = trace_.strings.Intern(gpu)});
    TaskRows rows(program_, trace_);
    rows.AddLanes();
    const std::int64_t ahead_ps = HostAheadPs();
    std::int64_t begin_ns = Nanoseconds(-ahead_ps);
    for (int repetition = 0; repetition < timeline_.repetitions; ++repetition) {
      const std::int64_t end_ns =
          Nanoseconds(step_ends_ps[static_cast<std::size_t>(repetition)] - ahead_ps);
      if (marks_training_loop) {
        AddLoopStep(TimesOf(repetition), rows);
      } else {
        rows.AddStep(repetition, std::exchange(begin_ns, end_ns), end_ns);
      }
      rows.AddCalls(TimesOf(repetition));
      rows.AddRuntimeCalls(TimesOf(repetition));
    }
    AddActivities(rows);
    AddMemory(rows);
    trace::FinishTrace(trace_);
    return std::move(trace_);
  }

 private:
  struct Activity {
    int repetition = 0;
    TaskId task = 0;
    std::int64_t begin_ns = 0;
    std::int64_t duration_ns = 0;

    [[nodiscard]] auto Order() const {
      return std::tuple(begin_ns, -duration_ns, repetition, task);
    }
  };

  // The training loop runs on the lane of the first task.
  void AddLoopStep(const TaskTimes& times, TaskRows& rows) const {
    TaskId last = 0;
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      last = program_.tasks.lane[task] == program_.tasks.lane[0] ? task : last;
    }
    if (!program_.tasks.empty()) {
      rows.AddStep(times.repetition, TaskRows::BeginNs(times, 0), Nanoseconds(times.end_ps[last]));
    }
  }

  // How long before 0 the rank's host begins the first step, where steps before it are left out.
  [[nodiscard]] std::int64_t HostAheadPs() const {
    std::int64_t ahead_ps = 0;
    const TaskTimes times = TimesOf(0);
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      if (program_.lanes.kind[program_.tasks.lane[task]] == workload::LaneKind::kHostThread) {
        ahead_ps = std::max(ahead_ps, -times.begin_ps[task]);
      }
    }
    return ahead_ps;
  }

  [[nodiscard]] TaskTimes TimesOf(int repetition) const {
    const std::size_t first = timeline_.First(traced_.rank_class, repetition);
    return {.begin_ps = std::span(timeline_.begin_ps).subspan(first, program_.tasks.size()),
            .end_ps = std::span(timeline_.end_ps).subspan(first, program_.tasks.size()),
            .repetition = repetition,
            .timeline = &timeline_,
            .first = first};
  }

  // In the order of FinishTrace, so that links between activities and collectives stay right.
  void AddActivities(TaskRows& rows) {
    std::vector<Activity> activities;
    for (int repetition = 0; repetition < timeline_.repetitions; ++repetition) {
      const TaskTimes times = TimesOf(repetition);
      for (TaskId task = 0; task < program_.tasks.size(); ++task) {
        if (rows.IsActivity(task)) {
          activities.push_back({repetition, task, TaskRows::BeginNs(times, task),
                                TaskRows::DurationNs(times, task)});
        }
      }
    }
    std::ranges::sort(activities, {}, &Activity::Order);
    CollectiveRows collectives(rank_classes_, traced_, trace_);
    for (const Activity& activity : activities) {
      const TaskTimes times = TimesOf(activity.repetition);
      collectives.Add(times, activity.task, rows.AddActivity(times, activity.task));
    }
  }

  void AddMemory(const TaskRows& rows) {
    std::int64_t total = 0;
    const auto add = [&](std::int64_t at_ps, StringId category, std::int64_t bytes) {
      total += bytes;
      trace_.memory_events.Append({.begin_ns = Nanoseconds(at_ps),
                                   .bytes = bytes,
                                   .device_kind = trace::DeviceKind::kGpu,
                                   .device = 0,
                                   .total_allocated_bytes = total,
                                   .name = rows.Name(category)});
    };
    for (std::size_t row = 0; row < program_.held_memory.size(); ++row) {
      add(0, program_.held_memory.category[row], program_.held_memory.bytes[row]);
    }
    for (int repetition = 0; repetition < timeline_.repetitions; ++repetition) {
      const std::size_t first = timeline_.First(traced_.rank_class, repetition);
      for (const MemoryStep& step : MemorySteps(program_, timeline_, first)) {
        add(step.at_ps, step.category, step.bytes);
      }
    }
  }

  const RankClasses& rank_classes_;
  const Timeline& timeline_;
  TracedRank traced_;
  const Program& program_;
  Trace trace_;
};

std::vector<TracedRank> RanksToTrace(const RankClasses& rank_classes, std::uint32_t most_ranks) {
  std::vector<TracedRank> traced;
  if (rank_classes.class_of_rank.size() <= most_ranks) {
    for (Rank rank = 0; rank < rank_classes.class_of_rank.size(); ++rank) {
      traced.push_back({.rank = rank, .rank_class = rank_classes.class_of_rank[rank]});
    }
    return traced;
  }
  for (RankClassId rank_class = 0; rank_class < rank_classes.classes.size(); ++rank_class) {
    traced.push_back({.rank = rank_classes.classes[rank_class].rank,
                      .rank_class = rank_class,
                      .is_for_class = true});
  }
  return traced;
}

}  // namespace

trace::TraceSet EnsembleTrace(const RankClasses& rank_classes, const Timeline& timeline,
                              const EnsembleTraceOptions& options) {
  const std::vector<std::int64_t> step_ends_ps = StepEnds(rank_classes, timeline);
  trace::TraceSet set;
  for (const TracedRank& traced : RanksToTrace(rank_classes, options.most_ranks)) {
    const std::string& gpu =
        options.gpu_of_program.empty()
            ? options.gpu
            : options.gpu_of_program[rank_classes.classes[traced.rank_class].program];
    set.ranks.push_back(RankTrace(rank_classes, timeline, traced)
                            .Write(gpu, step_ends_ps, options.marks_training_loop));
  }
  return set;
}

}  // namespace orrery::simulate
