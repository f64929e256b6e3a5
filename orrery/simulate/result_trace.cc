#include "orrery/simulate/result_trace.h"

#include <cstddef>
#include <cstdint>
#include <span>

#include "orrery/simulate/task_rows.h"
#include "orrery/trace/finish.h"

namespace orrery::simulate {
namespace {

using workload::LaneId;
using workload::Program;
using workload::TaskId;

TaskTimes TimesOf(const Program& program, const Timeline& timeline, int repetition) {
  const std::size_t num_tasks = program.tasks.size();
  const std::size_t first = timeline.First(0, repetition);
  return {.begin_ps = std::span(timeline.begin_ps).subspan(first, num_tasks),
          .end_ps = std::span(timeline.end_ps).subspan(first, num_tasks),
          .repetition = repetition};
}

// From the first to the last task of the thread that runs the training loop.
void AddStep(const Program& program, const TaskTimes& times, TaskRows& rows) {
  if (program.tasks.empty()) {
    return;
  }
  const LaneId lane = program.tasks.lane[0];
  TaskId last = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    last = program.tasks.lane[task] == lane ? task : last;
  }
  rows.AddStep(times.repetition, TaskRows::BeginNs(times, 0), Nanoseconds(times.end_ps[last]));
}

}  // namespace

trace::Trace ResultTrace(const Program& program, const Timeline& timeline,
                         const ResultOptions& options) {
  trace::Trace trace;
  trace.info.format = "Orrery prediction";
  trace.info.rank = 0;
  trace.info.world_size = 1;
  trace.info.time_origin = trace::TimeOrigin::kRecordingStart;
  trace.devices.Append({.id = 0, .name = trace.strings.Intern(options.gpu)});
  TaskRows rows(program, trace);
  rows.AddLanes();
  for (int repetition = options.first_repetition; repetition < timeline.repetitions; ++repetition) {
    const TaskTimes times = TimesOf(program, timeline, repetition);
    AddStep(program, times, rows);
    rows.AddCalls(times);
    rows.AddRuntimeCalls(times);
    for (TaskId task = 0; task < program.tasks.size(); ++task) {
      if (rows.IsActivity(task)) {
        rows.AddActivity(times, task);
      }
    }
  }
  trace::FinishTrace(trace);
  return trace;
}

}  // namespace orrery::simulate
