#include "orrery/workload/recorded/stream_filler.h"

#include <algorithm>
#include <cmath>
#include <tuple>
#include <unordered_map>

namespace orrery::workload {
namespace {

using trace::SyncKind;
using trace::Trace;

/// When the host made the calls that recorded events, by correlation.
std::unordered_map<std::int64_t, std::int64_t> RecordOrders(const Trace& recording) {
  std::unordered_map<std::int64_t, std::int64_t> orders;
  for (RowId call = 0; call < recording.runtime_calls.size(); ++call) {
    const std::string_view name = recording.Text(recording.runtime_calls.name[call]);
    if (name.find("EventRecord") != std::string_view::npos) {
      orders.emplace(recording.runtime_calls.correlation[call],
                     recording.runtime_calls.begin_ns[call]);
    }
  }
  return orders;
}

class WaitCollector {
 public:
  explicit WaitCollector(const Trace& recording)
      : recording_(recording), record_orders_(RecordOrders(recording)) {}

  RecordedWaits Collect() {
    for (RowId sync = 0; sync < recording_.syncs.size(); ++sync) {
      Add(sync);
    }
    return std::move(waits_);
  }

 private:
  void Add(RowId sync) {
    const RowId call = recording_.syncs.call[sync];
    if (call == kNoRow) {
      return;
    }
    switch (recording_.syncs.kind[sync]) {
      case SyncKind::kStreamWaitEvent:
        AddStreamWait(sync, recording_.runtime_calls.begin_ns[call]);
        return;
      case SyncKind::kEvent:
        waits_.of_calls[call].event = EventOf(sync);
        return;
      case SyncKind::kStream:
        waits_.of_calls[call].stream = recording_.syncs.stream[sync];
        return;
      default:
        return;
    }
  }

  void AddStreamWait(RowId sync, std::int64_t order) {
    const std::int64_t stream = recording_.syncs.stream[sync];
    const std::optional<StreamEvent> event = EventOf(sync);
    if (!event || stream < 0) {
      ++waits_.unknown;
      return;
    }
    waits_.of_streams.push_back({order, stream, *event});
  }

  [[nodiscard]] std::optional<StreamEvent> EventOf(RowId sync) const {
    const auto record = record_orders_.find(recording_.syncs.record_correlation[sync]);
    if (record == record_orders_.end() || recording_.syncs.wait_on_stream[sync] < 0) {
      return std::nullopt;
    }
    return StreamEvent{record->second, recording_.syncs.wait_on_stream[sync]};
  }

  const Trace& recording_;
  std::unordered_map<std::int64_t, std::int64_t> record_orders_;
  RecordedWaits waits_;
};

constexpr std::int64_t kFirstCommunicationStream = 20;
constexpr std::int64_t kFirstMessageStream = 1000;  // beyond the numbers that profilers give

}  // namespace

RecordedWaits WaitsOf(const Trace& recording) {
  if (recording.syncs.empty()) {
    return {};
  }
  return WaitCollector(recording).Collect();
}

StreamFiller::StreamFiller(const HostModel& host, CommunicationStreams communications,
                           const RecordedWaits& waits, WalkResult& result)
    : result_(result), waits_(waits), communications_(communications) {
  const HostCost* gap = host.Find(HostPart::kKernelGap, HostModel::kAll);
  gap_ps_ = gap == nullptr ? 0 : std::llround(gap->typical * 1000);
}

void StreamFiller::Fill() {
  for (const Happening& happening : Happenings()) {
    Handle(happening);
  }
}

// Of equal orders kernels come first: a call waits for what it launches itself.
std::vector<StreamFiller::Happening> StreamFiller::Happenings() {
  std::vector<Happening> happenings;
  for (std::size_t i = 0; i < result_.kernels.size(); ++i) {
    happenings.push_back({result_.kernels[i].order, Turn::kKernel, i});
  }
  for (std::size_t i = 0; i < result_.waits.size(); ++i) {
    happenings.push_back({result_.waits[i].order, Turn::kHostWait, i});
    const auto found = waits_.of_calls.find(result_.waits[i].call);
    if (found != waits_.of_calls.end() && found->second.event) {
      events_.push_back(*found->second.event);
    }
  }
  for (std::size_t i = 0; i < waits_.of_streams.size(); ++i) {
    happenings.push_back({waits_.of_streams[i].order, Turn::kStreamWait, i});
    events_.push_back(waits_.of_streams[i].event);
  }
  std::sort(events_.begin(), events_.end());
  events_.erase(std::unique(events_.begin(), events_.end()), events_.end());
  for (std::size_t i = 0; i < events_.size(); ++i) {
    happenings.push_back({events_[i].order, Turn::kRecord, i});
  }
  std::stable_sort(happenings.begin(), happenings.end(),
                   [](const Happening& lhs, const Happening& rhs) {
                     return std::tie(lhs.order, lhs.turn) < std::tie(rhs.order, rhs.turn);
                   });
  return happenings;
}

void StreamFiller::Handle(const Happening& happening) {
  switch (happening.turn) {
    case Turn::kKernel:
      AddKernel(result_.kernels[happening.place]);
      return;
    case Turn::kRecord: {
      const StreamEvent& event = events_[happening.place];
      tails_[event] = TailOf(StreamPassing(event.stream));
      return;
    }
    case Turn::kStreamWait: {
      const StreamWait& wait = waits_.of_streams[happening.place];
      const auto tail = tails_.find(wait.event);
      if (tail != tails_.end() && wait.stream != wait.event.stream) {
        // A later event of the same stream includes the earlier ones.
        StreamNumbered(wait.stream).awaited[wait.event.stream] = tail->second;
      }
      return;
    }
    case Turn::kHostWait:
      AddHostWait(result_.waits[happening.place]);
      return;
  }
}

void StreamFiller::AddKernel(const QueuedKernel& kernel) {
  const bool talks = kernel.task.communication.has_value();
  const bool is_recorded = communications_ == CommunicationStreams::kAsRecorded;
  if (talks && is_recorded && kernel.task.communication->IsMessage()) {
    AddMessage(kernel);
    return;
  }
  const std::uint32_t role =
      talks && !is_recorded ? RoleNamed(kernel.task.communication->role) : std::uint32_t{kNone};
  Stream& stream = StreamNumbered(role == kNone ? kernel.stream : kFirstCommunicationStream + role);
  stream.role = role;
  const TaskId task = program().tasks.Append(RowOf(kernel, stream.lane));
  FollowAwaited(stream, task);
  for (const auto& [message_role, message] : stream.messages) {
    program().edges.Append({.from = message, .to = task});
  }
  stream.awaited.clear();
  stream.messages.clear();
  stream.last = task;
  if (role != kNone) {
    FollowStream(kernel.stream, task);
    unread_.push_back({task, kernel.storages});
  } else if (!is_recorded) {
    FollowCommunications(kernel.storages, task);
  }
}

void StreamFiller::AddMessage(const QueuedKernel& kernel) {
  Stream& stream = StreamNumbered(kernel.stream);
  const std::uint32_t role = RoleNamed(kernel.task.communication->role);
  const auto [lane, is_new] = message_lanes_.try_emplace(role, kNone);
  if (is_new) {
    lane->second = program().lanes.Append(
        {.kind = LaneKind::kStream, .number = kFirstMessageStream + role, .gap_ps = gap_ps_});
  }
  const TaskId task = program().tasks.Append(RowOf(kernel, lane->second));
  if (stream.last != kNone) {
    program().edges.Append({.from = stream.last, .to = task});
  }
  FollowAwaited(stream, task);
  stream.messages[role] = task;
}

Tasks::Row StreamFiller::RowOf(const QueuedKernel& kernel, LaneId lane) {
  Tasks::Row row{.lane = lane,
                 .kind = kernel.task.communication ? TaskKind::kCollective : TaskKind::kKernel,
                 .duration_ps = kernel.task.duration_ps,
                 .name = program().strings.Intern(kernel.task.name),
                 .call = program().tasks.call[kernel.launch],
                 .launch = kernel.launch};
  if (kernel.task.role) {
    row.part = PartOf(*kernel.task.role);
    row.microbatch = kernel.task.role->microbatch;
  }
  if (kernel.task.communication) {
    row.communication = CommunicationOf(*kernel.task.communication);
  }
  return row;
}

CommunicationId StreamFiller::CommunicationOf(const RecordedCommunication& communication) {
  return program().communications.Append({.role = RoleNamed(communication.role),
                                          .kind = communication.kind,
                                          .bytes = communication.bytes,
                                          .element = communication.element});
}

PartId StreamFiller::PartOf(const DeviceRole& role) {
  const Parts::Row row{.category = program().strings.Intern(role.category),
                       .phase = role.phase,
                       .sm_share = role.sm_share,
                       .memory_share = role.memory_share,
                       .compute_share = role.compute_share,
                       .operation = role.operation};
  return parts_.Find(row, program());
}

// What was launched on the stream before.
void StreamFiller::FollowStream(std::int64_t number, TaskId task) {
  const auto stream = streams_.find(number);
  if (stream != streams_.end() && stream->second.last != kNone) {
    program().edges.Append({.from = stream->second.last, .to = task});
  }
}

void StreamFiller::FollowCommunications(const std::vector<std::int64_t>& storages, TaskId task) {
  const auto touches = [&](const Unread& communication) {
    return std::any_of(storages.begin(), storages.end(), [&](std::int64_t storage) {
      return std::find(communication.storages.begin(), communication.storages.end(), storage) !=
             communication.storages.end();
    });
  };
  for (const Unread& communication : unread_) {
    if (touches(communication)) {
      program().edges.Append({.from = communication.task, .to = task});
    }
  }
  std::erase_if(unread_, touches);
}

void StreamFiller::FollowAwaited(const Stream& stream, TaskId task) {
  for (const auto& [source, tail] : stream.awaited) {
    AddEdges(tail, task);
  }
}

void StreamFiller::AddEdges(const std::vector<TaskId>& from, TaskId to) {
  for (const TaskId task : from) {
    program().edges.Append({.from = task, .to = to});
  }
}

// Where nothing says what the host waits for: the streams that compute; communications it needs are
// waited for there.
void StreamFiller::AddHostWait(const QueuedWait& wait) {
  const auto found = waits_.of_calls.find(wait.call);
  if (found != waits_.of_calls.end() && found->second.event) {
    AddEdges(tails_[*found->second.event], wait.task);
    return;
  }
  for (const auto& [number, stream] : streams_) {
    const bool is_awaited =
        found == waits_.of_calls.end() || !found->second.stream || *found->second.stream == number;
    if (is_awaited && stream.role == kNone) {
      AddEdges(TailOf(stream), wait.task);
    }
  }
}

// Of each lane the last task: those before it are done then.
std::vector<TaskId> StreamFiller::TailOf(const Stream& stream) {
  std::map<LaneId, TaskId> last_of_lane;
  const auto add = [&](TaskId task) {
    TaskId& last = last_of_lane.try_emplace(program().tasks.lane[task], task).first->second;
    last = std::max(last, task);
  };
  if (stream.last != kNone) {
    add(stream.last);
  }
  for (const auto& [source, awaited] : stream.awaited) {
    std::ranges::for_each(awaited, add);
  }
  for (const auto& [role, message] : stream.messages) {
    add(message);
  }
  std::vector<TaskId> tail;
  for (const auto& [lane, task] : last_of_lane) {
    tail.push_back(task);
  }
  return tail;
}

StreamFiller::Stream& StreamFiller::StreamNumbered(std::int64_t number) {
  auto [stream, is_new] = streams_.try_emplace(number);
  if (is_new) {
    stream->second.lane =
        program().lanes.Append({.kind = LaneKind::kStream, .number = number, .gap_ps = gap_ps_});
  }
  return stream->second;
}

// Before the first task of a stream, an event is that of all it did in the step before.
const StreamFiller::Stream& StreamFiller::StreamPassing(std::int64_t number) {
  Stream& stream = StreamNumbered(number);
  if (stream.last == kNone && stream.messages.empty()) {
    stream.last = program().tasks.Append({.lane = stream.lane, .kind = TaskKind::kRecord});
  }
  return stream;
}

std::uint32_t StreamFiller::RoleNamed(const std::string& name) {
  const auto [role, is_new] =
      roles_.try_emplace(name, static_cast<std::uint32_t>(program().roles.size()));
  if (is_new) {
    program().roles.push_back(program().strings.Intern(name));
  }
  return role->second;
}

}  // namespace orrery::workload
