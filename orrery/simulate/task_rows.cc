#include "orrery/simulate/task_rows.h"

#include <cstddef>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

using workload::CallId;
using workload::kNone;
using workload::LaneId;
using workload::LaneKind;
using workload::TaskId;
using workload::TaskKind;

constexpr std::int64_t kProcess = 1;
constexpr std::string_view kStepMarker = "ProfilerStep#";

// How long a task takes alone, and how long it waited for room, as arguments of its slice.
std::string DelayFields(const DelayedTask* delayed) {
  constexpr double kPicosecondsPerMicrosecond = 1e6;
  if (delayed == nullptr) {
    return "";
  }
  std::string fields = fmt::format(
      "\"alone_us\": {:.3f}", static_cast<double>(delayed->alone_ps) / kPicosecondsPerMicrosecond);
  if (delayed->delayed_ps > 0) {
    fields += fmt::format(", \"delayed_us\": {:.3f}",
                          static_cast<double>(delayed->delayed_ps) / kPicosecondsPerMicrosecond);
  }
  return fields;
}

}  // namespace

TaskRows::TaskRows(const workload::Program& program, trace::Trace& trace)
    : program_(program), trace_(trace), names_(trace.strings.Merge(program.strings)) {}

void TaskRows::AddLanes() {
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

void TaskRows::AddStep(int repetition, std::int64_t begin_ns, std::int64_t end_ns) {
  if (program_.tasks.empty()) {
    return;
  }
  trace_.annotations.Append(
      {.begin_ns = begin_ns,
       .duration_ns = end_ns - begin_ns,
       .name = trace_.strings.Intern(fmt::format("{}{}", kStepMarker, repetition)),
       .track = program_.tasks.lane[0]});
}

void TaskRows::AddCalls(const TaskTimes& times) {
  for (CallId call = 0; call < program_.calls.size(); ++call) {
    AddCall(times, call);
  }
}

void TaskRows::AddCall(const TaskTimes& times, CallId call) {
  const workload::Calls::Row row = program_.calls.At(call);
  if (row.first_task == kNone || IsStepMarker(row)) {
    return;
  }
  const std::int64_t begin_ns = BeginNs(times, row.first_task);
  const std::int64_t duration_ns =
      BeginNs(times, row.last_task) + DurationNs(times, row.last_task) - begin_ns;
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
bool TaskRows::IsStepMarker(const workload::Calls::Row& row) const {
  return row.is_annotation != 0 && program_.strings.View(row.name).starts_with(kStepMarker);
}

void TaskRows::AddRuntimeCalls(const TaskTimes& times) {
  for (TaskId task = 0; task < program_.tasks.size(); ++task) {
    const TaskKind kind = program_.tasks.kind[task];
    if (kind == TaskKind::kLaunch || kind == TaskKind::kSynchronize) {
      trace_.runtime_calls.Append({.begin_ns = BeginNs(times, task),
                                   .duration_ns = DurationNs(times, task),
                                   .name = Name(program_.tasks.name[task]),
                                   .track = program_.tasks.lane[task],
                                   .correlation = Correlation(times, task)});
    }
  }
}

bool TaskRows::IsActivity(TaskId task) const {
  const TaskKind kind = program_.tasks.kind[task];
  return kind == TaskKind::kKernel || kind == TaskKind::kCollective;
}

RowId TaskRows::AddActivity(const TaskTimes& times, TaskId task) {
  const TaskId launch = program_.tasks.launch[task];
  return trace_.activities.Append(
      {.begin_ns = BeginNs(times, task),
       .duration_ns = DurationNs(times, task),
       .name = Name(program_.tasks.name[task]),
       .track = program_.tasks.lane[task],
       .correlation = launch == kNone ? -1 : Correlation(times, launch),
       .extra = trace_.strings.Intern(DelayFields(times.FindDelayed(task)))});
}

std::int64_t TaskRows::Correlation(const TaskTimes& times, TaskId launch) const {
  return static_cast<std::int64_t>(times.repetition) *
             static_cast<std::int64_t>(program_.tasks.size()) +
         launch + 1;
}

}  // namespace orrery::simulate
