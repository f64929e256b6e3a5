#include "orrery/simulate/replay.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/engine/overlap_rates.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/replayed_host.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::simulate {
namespace {

using workload::kNone;
using workload::LaneKind;
using workload::Program;
using workload::TaskId;

struct Busy {
  std::int64_t begin_ps = 0;
  std::int64_t end_ps = 0;
  std::int64_t launched_ps = 0;  // when the host had handed it over
};

std::vector<Busy> BusyTimes(const Program& program, const Timeline& timeline, int repetition) {
  std::vector<Busy> busy;
  const std::size_t first = timeline.First(0, repetition);
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] != LaneKind::kStream ||
        program.tasks.duration_ps[task] == 0) {
      continue;
    }
    const TaskId launch = program.tasks.launch[task];
    const std::int64_t launched_ps =
        launch == kNone ? 0 : timeline.end_ps[first + launch] + program.launch_latency_ps;
    busy.push_back({timeline.begin_ps[first + task], timeline.end_ps[first + task], launched_ps});
  }
  std::ranges::sort(busy, {},
                    [](const Busy& task) { return std::pair(task.begin_ps, task.end_ps); });
  return busy;
}

// Sweeps over the busy times from `front_ps` on: the union is active; a pause belongs to the host
// as far as the task that ends it had not been handed over.
void AddTimes(const std::vector<Busy>& busy, std::int64_t front_ps, StepFigures& figures) {
  for (const Busy& task : busy) {
    if (task.begin_ps > front_ps) {
      const std::int64_t host_ps =
          std::clamp(task.launched_ps - front_ps, std::int64_t{0}, task.begin_ps - front_ps);
      figures.host_bound_ps += host_ps;
      figures.other_idle_ps += task.begin_ps - front_ps - host_ps;
    }
    figures.active_ps += std::max<std::int64_t>(0, task.end_ps - std::max(front_ps, task.begin_ps));
    front_ps = std::max(front_ps, task.end_ps);
  }
}

}  // namespace

StepFigures FiguresOf(const Program& program, const Timeline& timeline) {
  StepFigures figures;
  if (timeline.end_ps.empty()) {
    return figures;
  }
  // Streams that share the GPU: behind the last repetition nothing is left to share it with.
  const bool is_last_alone = !program.parts.empty() && timeline.repetitions > 2;
  const int last = timeline.repetitions - (is_last_alone ? 2 : 1);
  std::int64_t front_ps = 0;  // the last end of work on streams
  figures.step_ps = timeline.EndOfRepetition(last);
  if (last > 0) {
    const std::int64_t before_ps = timeline.EndOfRepetition(last - 1);
    front_ps = EndOfLanes(program, timeline, timeline.First(0, last - 1), LaneKind::kStream);
    front_ps = front_ps == 0 ? before_ps : front_ps;
    figures.step_ps -= before_ps;
  }
  const std::vector<Busy> busy = BusyTimes(program, timeline, last);
  figures.kernels = static_cast<std::int64_t>(busy.size());
  AddTimes(busy, front_ps, figures);
  return figures;
}

Result<Timeline> SimulateRecording(const Program& program, int repetitions) {
  static const AnalyticOverlap kOverlap;
  return SimulateSingleRank(
      program, {.repetitions = repetitions, .rates = program.parts.empty() ? nullptr : &kOverlap});
}

Result<StepFigures> ReplayRecording(const trace::Trace& recording,
                                    const workload::HostChoice& host) {
  const workload::RecordedProgram recorded = workload::ProgramOfMiddleStep(recording, host);
  ORRERY_TRY(const Timeline timeline, SimulateRecording(recorded.program, kReplayRepetitions));
  return FiguresOf(recorded.program, timeline);
}

}  // namespace orrery::simulate
