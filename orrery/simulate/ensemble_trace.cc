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
std::vector<std::int64_t> StepEnds(const Cast& cast, const Performance& performance) {
  std::vector<std::int64_t> ends(static_cast<std::size_t>(performance.repetitions), 0);
  for (PlayerId player = 0; player < cast.players.size(); ++player) {
    for (int repetition = 0; repetition < performance.repetitions; ++repetition) {
      std::int64_t& end_ps = ends[static_cast<std::size_t>(repetition)];
      const std::size_t first = performance.First(player, repetition);
      for (TaskId task = 0; task < cast.ProgramOf(player).tasks.size(); ++task) {
        end_ps = std::max(end_ps, performance.end_ps[first + task]);
      }
    }
  }
  return ends;
}

/// Writes the trace of one rank.
class RankTrace {
 public:
  RankTrace(const Cast& cast, const Performance& performance, const TracedRank& traced)
      : cast_(cast),
        performance_(performance),
        traced_(traced),
        program_(cast.ProgramOf(traced.player)) {}

  Trace Write(const std::string& gpu, const std::vector<std::int64_t>& step_ends_ps) {
    trace_.info.format = "Orrery prediction";
    trace_.info.rank = static_cast<std::int32_t>(traced_.rank);
    trace_.info.world_size = static_cast<std::int32_t>(cast_.player_of_rank.size());
    trace_.info.time_origin = trace::TimeOrigin::kRecordingStart;
    trace_.devices.Append({.id = 0, .name = trace_.strings.Intern(gpu)});
    TaskRows rows(program_, trace_);
    rows.AddLanes();
    const std::int64_t ahead_ps = HostAheadPs();
    std::int64_t begin_ns = Nanoseconds(-ahead_ps);
    for (int repetition = 0; repetition < performance_.repetitions; ++repetition) {
      const std::int64_t end_ns =
          Nanoseconds(step_ends_ps[static_cast<std::size_t>(repetition)] - ahead_ps);
      rows.AddStep(repetition, std::exchange(begin_ns, end_ns), end_ns);
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
    const std::size_t first = performance_.First(traced_.player, repetition);
    return {.begin_ps = std::span(performance_.begin_ps).subspan(first, program_.tasks.size()),
            .end_ps = std::span(performance_.end_ps).subspan(first, program_.tasks.size()),
            .repetition = repetition,
            .performance = &performance_,
            .first = first};
  }

  // In the order of FinishTrace, so that links between activities and collectives stay right.
  void AddActivities(TaskRows& rows) {
    std::vector<Activity> activities;
    for (int repetition = 0; repetition < performance_.repetitions; ++repetition) {
      const TaskTimes times = TimesOf(repetition);
      for (TaskId task = 0; task < program_.tasks.size(); ++task) {
        if (rows.IsActivity(task)) {
          activities.push_back({repetition, task, TaskRows::BeginNs(times, task),
                                TaskRows::DurationNs(times, task)});
        }
      }
    }
    std::sort(activities.begin(), activities.end(),
              [](const Activity& lhs, const Activity& rhs) { return lhs.Order() < rhs.Order(); });
    CollectiveRows collectives(cast_, traced_, trace_);
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
    for (int repetition = 0; repetition < performance_.repetitions; ++repetition) {
      const std::size_t first = performance_.First(traced_.player, repetition);
      for (const MemoryStep& step : MemorySteps(program_, performance_, first)) {
        add(step.at_ps, step.category, step.bytes);
      }
    }
  }

  const Cast& cast_;
  const Performance& performance_;
  TracedRank traced_;
  const Program& program_;
  Trace trace_;
};

std::vector<TracedRank> RanksToTrace(const Cast& cast, std::uint32_t most_ranks) {
  std::vector<TracedRank> traced;
  if (cast.player_of_rank.size() <= most_ranks) {
    for (Rank rank = 0; rank < cast.player_of_rank.size(); ++rank) {
      traced.push_back({.rank = rank, .player = cast.player_of_rank[rank]});
    }
    return traced;
  }
  for (PlayerId player = 0; player < cast.players.size(); ++player) {
    traced.push_back({.rank = cast.players[player].rank, .player = player, .is_for_player = true});
  }
  return traced;
}

}  // namespace

trace::TraceSet EnsembleTrace(const Cast& cast, const Performance& performance,
                              const EnsembleTraceOptions& options) {
  const std::vector<std::int64_t> step_ends_ps = StepEnds(cast, performance);
  trace::TraceSet set;
  for (const TracedRank& traced : RanksToTrace(cast, options.most_ranks)) {
    const std::string& gpu = options.gpu_of_program.empty()
                                 ? options.gpu
                                 : options.gpu_of_program[cast.players[traced.player].program];
    set.ranks.push_back(RankTrace(cast, performance, traced).Write(gpu, step_ends_ps));
  }
  return set;
}

}  // namespace orrery::simulate
