#include "orrery/workload/recorded.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <span>
#include <string_view>
#include <utility>

#include "orrery/trace/row_index.h"
#include "orrery/workload/aten_call.h"
#include "orrery/workload/host_walk.h"
#include "orrery/workload/recorded_exchanges.h"

namespace orrery::workload {
namespace {

using trace::kNoRow;
using trace::Trace;

constexpr std::int64_t kUsualStream = 7;  // the number that profilers give the default stream
constexpr std::int64_t kFirstExchangeStream = 20;

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

Threads WalkThreads(const Trace& trace, const CallTree& step, const HostModel& host,
                    const WorkOfCall& work, const StepCosts* costs, WalkResult& result) {
  const std::vector<std::int64_t> turns = TurnsOf(step);
  Threads threads;
  bool has_waiting = false;
  for (std::size_t number = 0; number < step.threads.size(); ++number) {
    const ThreadCalls& thread = step.threads[number];
    HostWalk walk(trace, step, host, work, result,
                  costs == nullptr ? nullptr : &costs->threads[number]);
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

// Puts the kernels on their streams in the order of their launches, and makes waits wait.
class StreamFiller {
 public:
  StreamFiller(const HostModel& host, WalkResult& result) : result_(result) {
    const HostCost* gap = host.Find(HostPart::kKernelGap, HostModel::kAll);
    gap_ps_ = gap == nullptr ? 0 : std::llround(gap->typical * 1000);
  }

  void Fill() {
    std::stable_sort(
        result_.kernels.begin(), result_.kernels.end(),
        [](const QueuedKernel& lhs, const QueuedKernel& rhs) { return lhs.order < rhs.order; });
    std::stable_sort(
        result_.waits.begin(), result_.waits.end(),
        [](const QueuedWait& lhs, const QueuedWait& rhs) { return lhs.order < rhs.order; });
    std::size_t next_wait = 0;
    for (const QueuedKernel& kernel : result_.kernels) {
      while (next_wait < result_.waits.size() && result_.waits[next_wait].order < kernel.order) {
        AddWait(result_.waits[next_wait++]);
      }
      AddKernel(kernel);
    }
    while (next_wait < result_.waits.size()) {
      AddWait(result_.waits[next_wait++]);
    }
  }

 private:
  void AddKernel(const QueuedKernel& kernel) {
    const bool talks = kernel.task.exchange.has_value();
    Stream& stream =
        talks ? StreamOfSlot(kernel.task.exchange->slot) : StreamNumbered(kernel.stream);
    Tasks::Row row{.lane = stream.lane,
                   .kind = talks ? TaskKind::kCollective : TaskKind::kKernel,
                   .duration_ps = kernel.task.duration_ps,
                   .name = program().strings.Intern(kernel.task.name),
                   .call = program().tasks.call[kernel.launch],
                   .launch = kernel.launch};
    if (talks) {
      row.communication =
          program().communications.Append({.slot = stream.slot,
                                           .kind = kernel.task.exchange->kind,
                                           .bytes = kernel.task.exchange->bytes,
                                           .element = kernel.task.exchange->element});
    }
    stream.last = program().tasks.Append(row);
    if (talks) {
      FollowStream(kernel.stream, stream.last);
      unread_.push_back({stream.last, kernel.storages});
    } else {
      FollowExchanges(kernel.storages, stream.last);
    }
  }

  // What was launched on the stream before.
  void FollowStream(std::int64_t number, TaskId task) {
    const auto stream = streams_.find(number);
    if (stream != streams_.end() && stream->second.last != kNone) {
      program().edges.Append({.from = stream->second.last, .to = task});
    }
  }

  void FollowExchanges(const std::vector<std::int64_t>& storages, TaskId task) {
    const auto touches = [&](const Unread& exchange) {
      return std::any_of(storages.begin(), storages.end(), [&](std::int64_t storage) {
        return std::find(exchange.storages.begin(), exchange.storages.end(), storage) !=
               exchange.storages.end();
      });
    };
    for (const Unread& exchange : unread_) {
      if (touches(exchange)) {
        program().edges.Append({.from = exchange.task, .to = task});
      }
    }
    std::erase_if(unread_, touches);
  }

  // The host waits for the streams that compute; exchanges it needs are waited for there.
  void AddWait(const QueuedWait& wait) {
    for (const auto& [number, stream] : streams_) {
      if (stream.slot == kNone) {
        program().edges.Append({.from = stream.last, .to = wait.task});
      }
    }
  }

  struct Stream {
    LaneId lane = kNone;
    TaskId last = kNone;
    std::uint32_t slot = kNone;  // of a stream that exchanges
  };

  /// An exchange whose result nobody has touched yet.
  struct Unread {
    TaskId task = kNone;
    std::vector<std::int64_t> storages;
  };

  Stream& StreamNumbered(std::int64_t number) {
    auto [stream, is_new] = streams_.try_emplace(number);
    if (is_new) {
      stream->second.lane =
          program().lanes.Append({.kind = LaneKind::kStream, .number = number, .gap_ps = gap_ps_});
    }
    return stream->second;
  }

  Stream& StreamOfSlot(const std::string& name) {
    const auto [slot, is_new] =
        slots_.try_emplace(name, static_cast<std::uint32_t>(program().slots.size()));
    if (is_new) {
      program().slots.push_back(program().strings.Intern(name));
    }
    Stream& stream = StreamNumbered(kFirstExchangeStream + slot->second);
    stream.slot = slot->second;
    return stream;
  }

  Program& program() { return result_.recorded.program; }

  WalkResult& result_;
  std::int64_t gap_ps_ = 0;
  std::map<std::int64_t, Stream> streams_;
  std::map<std::string, std::uint32_t> slots_;
  std::vector<Unread> unread_;
};

RecordedProgram Build(const Trace& trace, const CallTree& step, const HostModel& host,
                      const WorkOfCall& work, const StepCosts* costs = nullptr) {
  WalkResult result;
  const Threads threads = WalkThreads(trace, step, host, work, costs, result);
  for (const HostWalk::Pause& pause : threads.pauses) {
    for (const std::vector<TopCall>& calls : threads.backward) {
      LinkPause(pause, calls, result.recorded.program);
    }
  }
  StreamFiller(host, result).Fill();
  const HostCost* latency = host.Find(HostPart::kLaunchLatency, HostModel::kAll);
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
                                   const HostModel& host, const StepCosts* costs) {
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
    }
    return found;
  };
  return Build(recording, step, host, work, costs);
}

RecordedProgram ProgramOfGraph(const Trace& graph, const CallTree& step, const HostModel& host,
                               const PriceNode& price) {
  const bool has_exchanges = !graph.collectives.empty();
  const WorkOfCall work = [&](const Call& call) {
    CallWork found;
    if (call.kind != CallKind::kOperator) {
      return found;
    }
    for (DeviceTask& task : price(call.row)) {
      std::vector<std::int64_t> storages;
      if (has_exchanges) {
        storages =
            task.exchange ? WrittenStorages(graph, call.row) : TouchedStorages(graph, call.row);
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
  return Build(graph, step, host, work);
}

}  // namespace orrery::workload
