#include "orrery/workload/recorded/recorded.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/trace/row_index.h"
#include "orrery/workload/recorded/aten_call.h"
#include "orrery/workload/recorded/host_walk.h"
#include "orrery/workload/recorded/recorded_communications.h"
#include "orrery/workload/recorded/stream_filler.h"

namespace orrery::workload {
namespace {

using trace::Trace;

constexpr std::int64_t kUsualStream = 7;  // the number that profilers give the default stream

// The orders in which top-level calls of the backward threads begin.
std::vector<std::int64_t> TurnsOf(const CallTree& step) {
  std::vector<std::int64_t> turns;
  for (const ThreadCalls& thread : step.threads) {
    if (thread.runs_backward) {
      ForEachChild(std::span(thread.calls), 0,
                   [&](std::uint32_t call) { turns.push_back(thread.calls[call].begin_ns); });
    }
  }
  std::sort(turns.begin(), turns.end());
  return turns;
}

// The thread that waits for the backward pass is the one that began first; others run on.
struct Threads {
  std::vector<HostWalk::Pause> pauses;
  std::vector<std::vector<TopCall>> backward;  // of each backward thread
};

void LinkPause(const HostWalk::Pause& pause, const std::vector<TopCall>& calls, Program& program) {
  TaskId first = kNone;
  TaskId last = kNone;
  for (const TopCall& call : calls) {
    if (call.order >= pause.order_begin && call.order <= pause.order_end) {
      first = std::min(first, call.first);
      last = last == kNone ? call.last : std::max(last, call.last);
    }
  }
  if (first == kNone) {
    return;
  }
  if (pause.before != kNone) {
    program.edges.Append({.from = pause.before, .to = first});
  }
  if (pause.after != kNone) {
    program.edges.Append({.from = last, .to = pause.after});
  }
}

/// What the host costs: by the model, or place by place where that is known.
struct HostPrices {
  const HostModel& model;
  const StepCosts* places = nullptr;
};

Threads WalkThreads(const Trace& trace, const CallTree& step, const HostPrices& host,
                    const WorkOfCall& work, WalkResult& result) {
  const std::vector<std::int64_t> turns = TurnsOf(step);
  Threads threads;
  bool has_waiting = false;
  for (std::size_t number = 0; number < step.threads.size(); ++number) {
    const ThreadCalls& thread = step.threads[number];
    HostWalk walk(trace, step, host.model, work, result,
                  host.places == nullptr ? nullptr : &host.places->threads[number]);
    const bool waits = !thread.runs_backward && !has_waiting;
    walk.Walk(thread, waits ? std::span(turns) : std::span<const std::int64_t>());
    has_waiting |= waits;
    if (waits) {
      threads.pauses = walk.pauses();
    }
    if (thread.runs_backward) {
      threads.backward.push_back(walk.top_calls());
    }
  }
  return threads;
}

RecordedProgram Build(const Trace& trace, const CallTree& step, const HostPrices& host,
                      const WorkOfCall& work, CommunicationStreams communications,
                      const RecordedWaits& waits) {
  WalkResult result;
  const Threads threads = WalkThreads(trace, step, host, work, result);
  for (const HostWalk::Pause& pause : threads.pauses) {
    for (const std::vector<TopCall>& calls : threads.backward) {
      LinkPause(pause, calls, result.recorded.program);
    }
  }
  StreamFiller(host.model, communications, waits, result).Fill();
  const HostCost* latency = host.model.Find(HostPart::kLaunchLatency, HostModel::kAll);
  result.recorded.program.launch_latency_ps =
      latency == nullptr ? 0 : std::llround(latency->typical * 1000);
  return std::move(result.recorded);
}

std::int64_t StreamOf(const Trace& recording, RowId activity) {
  const RowId track = recording.activities.track[activity];
  return track == kNoRow ? 0 : recording.tracks.thread[track];
}

bool IsOnGpu(const kernel::AtenTensor* tensor) {
  return tensor != nullptr && tensor->on_gpu;
}

/// Whether a node hands a value of the GPU to the host, which waits for it: numbers, results whose
/// size depends on values, and copies to the host that do not say that they need not wait.
bool ReadsBack(const Trace& graph, RowId node) {
  const std::string_view name = graph.Text(graph.graph_nodes.name[node]);
  if (name == "aten::copy_") {
    const kernel::AtenCall call = CallOfNode(graph, node);
    const kernel::AtenTensor* const target = call.TensorAt(0);
    return target != nullptr && !target->on_gpu && IsOnGpu(call.TensorAt(1)) && !call.IsTrueAt(2);
  }
  const bool is_reading = name == "aten::_local_scalar_dense" || name == "aten::nonzero" ||
                          name == "aten::masked_select" || name == "aten::_unique2";
  return is_reading && IsOnGpu(CallOfNode(graph, node).TensorAt(0));
}

}  // namespace

RecordedProgram ProgramOfRecording(const Trace& recording, const CallTree& step,
                                   const HostModel& host, const CompleteTask& complete,
                                   const StepCosts* costs) {
  const trace::RowIndex activities(recording.activities.launch);
  const WorkOfCall work = [&](const Call& call) {
    CallWork found;
    if (call.kind != CallKind::kLaunch) {
      return found;
    }
    for (RowId row = activities.First(call.row); row != kNoRow; row = activities.Next(row)) {
      found.kernels.push_back(
          {.order = call.begin_ns,
           .stream = StreamOf(recording, row),
           .task = {.duration_ps = recording.activities.duration_ns[row] * 1000,
                    .name = std::string(recording.Text(recording.activities.name[row]))}});
      if (complete) {
        complete(row, found.kernels.back().task);
      }
    }
    return found;
  };
  return Build(recording, step, {host, costs}, work, CommunicationStreams::kAsRecorded,
               WaitsOf(recording));
}

RecordedProgram ProgramOfGraph(const Trace& graph, const CallTree& step, const HostModel& host,
                               const PriceNode& price) {
  const bool has_communications = !graph.collectives.empty();
  const WorkOfCall work = [&](const Call& call) {
    CallWork found;
    if (call.kind != CallKind::kOperator) {
      return found;
    }
    for (DeviceTask& task : price(call.row)) {
      std::vector<std::int64_t> storages;
      if (has_communications) {
        storages = task.communication ? WrittenStorages(graph, call.row)
                                      : TouchedStorages(graph, call.row);
      }
      found.kernels.push_back({.order = call.begin_ns,
                               .stream = kUsualStream,
                               .task = std::move(task),
                               .storages = std::move(storages)});
    }
    const HostCost* waits = host.Find(HostPart::kWaits, graph.Text(call.name));
    found.waits = ReadsBack(graph, call.row) || (waits != nullptr && waits->typical >= 0.5);
    return found;
  };
  return Build(graph, step, {host}, work, CommunicationStreams::kOfTheirGroup, {});
}

}  // namespace orrery::workload
