#include "orrery/simulate/step_figures.h"

#include <algorithm>
#include <cstddef>
#include <span>
#include <tuple>
#include <vector>

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

  bool operator<(const Busy& other) const {
    return std::tie(begin_ps, end_ps) < std::tie(other.begin_ps, other.end_ps);
  }
};

bool IsOnStream(const Program& program, TaskId task) {
  return program.lanes.kind[program.tasks.lane[task]] == LaneKind::kStream;
}

std::int64_t EndOf(const Program& program, const Timeline& timeline, int repetition) {
  const auto ends =
      std::span(timeline.end_ps).subspan(timeline.First(0, repetition), program.tasks.size());
  return ends.empty() ? 0 : *std::max_element(ends.begin(), ends.end());
}

// The last end of work on streams; the end of everything where there is none.
std::int64_t DeviceEndOf(const Program& program, const Timeline& timeline, int repetition) {
  std::int64_t end_ps = -1;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (IsOnStream(program, task)) {
      end_ps = std::max(end_ps, timeline.end_ps[timeline.First(0, repetition) + task]);
    }
  }
  return end_ps < 0 ? EndOf(program, timeline, repetition) : end_ps;
}

std::vector<Busy> BusyTimes(const Program& program, const Timeline& timeline, int repetition) {
  std::vector<Busy> busy;
  const std::size_t first = timeline.First(0, repetition);
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (!IsOnStream(program, task) || program.tasks.duration_ps[task] == 0) {
      continue;
    }
    const TaskId launch = program.tasks.launch[task];
    const std::int64_t launched_ps =
        launch == kNone ? 0 : timeline.end_ps[first + launch] + program.launch_latency_ps;
    busy.push_back({timeline.begin_ps[first + task], timeline.end_ps[first + task], launched_ps});
  }
  std::sort(busy.begin(), busy.end());
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
  if (timeline.repetitions == 0) {
    return figures;
  }
  const int last = timeline.repetitions - 1;
  const std::int64_t step_begin_ps = last == 0 ? 0 : EndOf(program, timeline, last - 1);
  figures.step_ps = EndOf(program, timeline, last) - step_begin_ps;
  const std::int64_t front_ps = last == 0 ? 0 : DeviceEndOf(program, timeline, last - 1);
  const std::vector<Busy> busy = BusyTimes(program, timeline, last);
  figures.kernels = static_cast<std::int64_t>(busy.size());
  AddTimes(busy, front_ps, figures);
  return figures;
}

}  // namespace orrery::simulate
