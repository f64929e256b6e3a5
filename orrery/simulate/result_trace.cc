#include "orrery/simulate/result_trace.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include <fmt/core.h>

#include "orrery/trace/finish.h"

namespace orrery::simulate {
namespace {

using trace::RowId;
using trace::Trace;
using workload::CallId;
using workload::kNone;
using workload::LaneId;
using workload::LaneKind;
using workload::Program;
using workload::TaskId;
using workload::TaskKind;

constexpr std::int64_t kProcess = 1;
constexpr std::string_view kStepMarker = "ProfilerStep#";

std::int64_t Nanoseconds(std::int64_t picoseconds) {
  return (picoseconds + 500) / 1000;
}

// Writes the rows of one repetition after the other.
class ResultWriter {
 public:
  ResultWriter(const Program& program, const Timeline& timeline, Trace& trace)
      : program_(program),
        timeline_(timeline),
        trace_(trace),
        names_(trace.strings.Merge(program.strings)) {}

  void AddLanes() {
    for (LaneId lane = 0; lane < program_.lanes.size(); ++lane) {
      const bool is_stream = program_.lanes.kind[lane] == LaneKind::kStream;
      const std::int64_t number = program_.lanes.number[lane];
      trace_.tracks.Append({.kind = is_stream ? trace::TrackKind::kDevice : trace::TrackKind::kHost,
                            .process = is_stream ? 0 : kProcess,
                            .thread = number,
                            .device = is_stream ? 0 : -1,
                            .name = trace_.strings.Intern(
                                fmt::format("{} {}", is_stream ? "stream" : "thread", number))});
    }
  }

  void AddRepetition(int repetition) {
    first_ = timeline_.First(repetition);
    AddStep(repetition);
    for (CallId call = 0; call < program_.calls.size(); ++call) {
      AddCall(call);
    }
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      AddTask(task);
    }
  }

 private:
  [[nodiscard]] std::int64_t Begin(TaskId task) const {
    return Nanoseconds(timeline_.begin_ps[first_ + task]);
  }

  [[nodiscard]] std::int64_t Duration(TaskId task) const {
    return Nanoseconds(timeline_.end_ps[first_ + task]) - Begin(task);
  }

  [[nodiscard]] StringId Name(StringId id) const { return names_[static_cast<std::size_t>(id)]; }

  // On the lane of the first task, which is the thread that runs the training loop.
  void AddStep(int repetition) {
    if (program_.tasks.empty()) {
      return;
    }
    const LaneId lane = program_.tasks.lane[0];
    TaskId last = 0;
    for (TaskId task = 0; task < program_.tasks.size(); ++task) {
      last = program_.tasks.lane[task] == lane ? task : last;
    }
    trace_.annotations.Append(
        {.begin_ns = Begin(0),
         .duration_ns = Begin(last) + Duration(last) - Begin(0),
         .name = trace_.strings.Intern(fmt::format("{}{}", kStepMarker, repetition)),
         .track = lane});
  }

  void AddCall(CallId call) {
    const workload::Calls::Row row = program_.calls.At(call);
    if (row.first_task == kNone || IsStepMarker(row)) {
      return;
    }
    const std::int64_t begin_ns = Begin(row.first_task);
    const std::int64_t duration_ns = Begin(row.last_task) + Duration(row.last_task) - begin_ns;
    if (row.is_annotation != 0) {
      trace_.annotations.Append({.begin_ns = begin_ns,
                                 .duration_ns = duration_ns,
                                 .name = Name(row.name),
                                 .track = row.lane});
    } else {
      trace_.host_ops.Append({.begin_ns = begin_ns,
                              .duration_ns = duration_ns,
                              .name = Name(row.name),
                              .track = row.lane});
    }
  }

  // The marker of the recorded step; each repetition gets one of its own.
  [[nodiscard]] bool IsStepMarker(const workload::Calls::Row& row) const {
    return row.is_annotation != 0 && program_.strings.View(row.name).starts_with(kStepMarker);
  }

  void AddTask(TaskId task) {
    const TaskKind kind = program_.tasks.kind[task];
    if (kind == TaskKind::kLaunch || kind == TaskKind::kSynchronize) {
      trace_.runtime_calls.Append({.begin_ns = Begin(task),
                                   .duration_ns = Duration(task),
                                   .name = Name(program_.tasks.name[task]),
                                   .track = program_.tasks.lane[task],
                                   .correlation = Correlation(task)});
    } else if (kind == TaskKind::kKernel || kind == TaskKind::kCollective) {
      const TaskId launch = program_.tasks.launch[task];
      trace_.activities.Append({.begin_ns = Begin(task),
                                .duration_ns = Duration(task),
                                .name = Name(program_.tasks.name[task]),
                                .track = program_.tasks.lane[task],
                                .correlation = launch == kNone ? -1 : Correlation(launch)});
    }
  }

  [[nodiscard]] std::int64_t Correlation(TaskId launch) const {
    return static_cast<std::int64_t>(first_ + launch) + 1;
  }

  const Program& program_;
  const Timeline& timeline_;
  Trace& trace_;
  std::vector<StringId> names_;
  std::size_t first_ = 0;
};

}  // namespace

trace::Trace ResultTrace(const Program& program, const Timeline& timeline,
                         const ResultOptions& options) {
  Trace trace;
  trace.info.format = "Orrery prediction";
  trace.info.rank = 0;
  trace.info.world_size = 1;
  trace.info.time_origin = trace::TimeOrigin::kRecordingStart;
  trace.devices.Append({.id = 0, .name = trace.strings.Intern(options.gpu)});
  ResultWriter writer(program, timeline, trace);
  writer.AddLanes();
  for (int repetition = options.first_repetition; repetition < timeline.repetitions; ++repetition) {
    writer.AddRepetition(repetition);
  }
  trace::FinishTrace(trace);
  return trace;
}

}  // namespace orrery::simulate
