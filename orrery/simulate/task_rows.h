#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "orrery/simulate/engine.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// Rounds to the unit of traces, halves up; times before 0 are those of hosts that run ahead.
[[nodiscard]] constexpr std::int64_t Nanoseconds(std::int64_t picoseconds) {
  const std::int64_t raised = picoseconds + 500;
  return (raised >= 0 ? raised : raised - 999) / 1000;
}

/// When the tasks of one repetition of a program ran.
struct TaskTimes {
  std::span<const std::int64_t> begin_ps;
  std::span<const std::int64_t> end_ps;
  int repetition = 0;
  const Timeline* timeline = nullptr;  // for task delays, where it is known
  std::size_t first = 0;               // the index of its first task there

  /// What delayed a task; nothing when nothing did.
  [[nodiscard]] const DelayedTask* FindDelayed(workload::TaskId task) const {
    return timeline == nullptr ? nullptr : timeline->FindDelayed(first + task);
  }
};

/// Writes what a program did as the rows that a profiler would have recorded. Picoseconds are
/// rounded to nanoseconds here and nowhere else.
class TaskRows {
 public:
  TaskRows(const workload::Program& program, trace::Trace& trace);

  /// A track for each lane, with the lane's number as its row.
  void AddLanes();

  /// The marker of a step on the lane of the first task, the thread that runs the training loop.
  void AddStep(int repetition, std::int64_t begin_ns, std::int64_t end_ns);

  /// Operators and annotations on host threads.
  void AddCalls(const TaskTimes& times);

  /// Launches and waits on host threads, with correlation ids.
  void AddRuntimeCalls(const TaskTimes& times);

  /// A kernel or a collective on a stream.
  RowId AddActivity(const TaskTimes& times, workload::TaskId task);

  /// When it had room on the GPU.
  [[nodiscard]] static std::int64_t BeginNs(const TaskTimes& times, workload::TaskId task) {
    const DelayedTask* const delayed = times.FindDelayed(task);
    return Nanoseconds(times.begin_ps[task] + (delayed == nullptr ? 0 : delayed->delayed_ps));
  }

  [[nodiscard]] static std::int64_t DurationNs(const TaskTimes& times, workload::TaskId task) {
    return Nanoseconds(times.end_ps[task]) - BeginNs(times, task);
  }

  /// Whether AddActivity is for it.
  [[nodiscard]] bool IsActivity(workload::TaskId task) const;

  /// The program's string in the trace.
  [[nodiscard]] StringId Name(StringId id) const { return names_[static_cast<std::size_t>(id)]; }

 private:
  void AddCall(const TaskTimes& times, workload::CallId call);
  [[nodiscard]] bool IsStepMarker(const workload::Calls::Row& row) const;
  [[nodiscard]] std::int64_t Correlation(const TaskTimes& times, workload::TaskId launch) const;

  const workload::Program& program_;
  trace::Trace& trace_;
  std::vector<StringId> names_;
};

}  // namespace orrery::simulate
