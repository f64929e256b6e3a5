#include "orrery/workload/recorded/stream_filler.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/host/host_walk.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recorded_waits.h"

namespace orrery::workload {
namespace {

constexpr std::int64_t kFirstCommunicationStream = 20;
constexpr std::int64_t kFirstMessageStream = 1000;  // beyond the numbers that profilers give

class StreamFiller {
 public:
  StreamFiller(const HostModel& host, CommunicationStreams communications,
               const RecordedWaits& waits, WalkResult& result)
      : result_(result), waits_(waits), communications_(communications) {
    const HostCost* gap = host.Find(HostPart::kKernelGap, HostModel::kAll);
    gap_ps_ = gap == nullptr ? 0 : std::llround(gap->typical * 1000);
  }

  void Fill() {
    for (const Happening& happening : Happenings()) {
      Handle(happening);
    }
  }

 private:
  struct Stream {
    LaneId lane = kNone;
    TaskId last = kNone;
    std::uint32_t role = kNone;                           // of a stream that communications
    std::map<std::int64_t, std::vector<TaskId>> awaited;  // by the stream that is waited for
    std::map<std::uint32_t, TaskId> messages;             // the last of each role
  };

  /// A communication whose result nothing has touched yet.
  struct Unread {
    TaskId task = kNone;
    std::vector<std::int64_t> storages;
  };

  enum class Turn : std::uint8_t { kRecord, kStreamWait, kKernel, kHostWait };

  /// Something that happens on streams, in the order of the host's calls.
  struct Happening {
    std::int64_t order = 0;
    Turn turn = Turn::kKernel;
    std::size_t place = 0;
    TaskId task = 0;  // of the host, which launches or waits

    [[nodiscard]] auto Key() const { return std::tuple(order, task, turn); }
  };

  // Of equal orders the host's tasks decide: a call waits for what it launched itself, and not for
  // what its caller launches behind it.
  [[nodiscard]] std::vector<Happening> Happenings() {
    std::vector<Happening> happenings;
    for (std::size_t i = 0; i < result_.kernels.size(); ++i) {
      happenings.push_back({result_.kernels[i].order, Turn::kKernel, i, result_.kernels[i].launch});
    }
    for (std::size_t i = 0; i < result_.waits.size(); ++i) {
      happenings.push_back({result_.waits[i].order, Turn::kHostWait, i, result_.waits[i].task});
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
    std::ranges::stable_sort(happenings, {}, &Happening::Key);
    return happenings;
  }

  void Handle(const Happening& happening) {
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

  void AddKernel(const QueuedKernel& kernel) {
    const bool talks = kernel.task.communication.has_value();
    const bool is_recorded = communications_ == CommunicationStreams::kAsRecorded;
    if (talks && is_recorded && kernel.task.communication->IsMessage()) {
      AddMessage(kernel);
      return;
    }
    const std::uint32_t role =
        talks && !is_recorded ? RoleOf(*kernel.task.communication) : std::uint32_t{kNone};
    Stream& stream =
        StreamNumbered(role == kNone ? kernel.stream : kFirstCommunicationStream + role);
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
      // Behind what was launched on the kernel's own stream before.
      const auto own = streams_.find(kernel.stream);
      if (own != streams_.end() && own->second.last != kNone) {
        program().edges.Append({.from = own->second.last, .to = task});
      }
      unread_.push_back({task, kernel.storages});
    } else if (!is_recorded) {
      FollowCommunications(kernel.storages, task);
    }
  }

  void AddMessage(const QueuedKernel& kernel) {
    Stream& stream = StreamNumbered(kernel.stream);
    const std::uint32_t role = RoleOf(*kernel.task.communication);
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

  // A wait with an unknown target is for the streams that compute; these wait for the
  // communications that they need.
  void AddHostWait(const QueuedWait& wait) {
    const auto found = waits_.of_calls.find(wait.call);
    if (found != waits_.of_calls.end() && found->second.event) {
      AddEdges(tails_[*found->second.event], wait.task);
      return;
    }
    for (const auto& [number, stream] : streams_) {
      const bool is_awaited = found == waits_.of_calls.end() || !found->second.stream ||
                              *found->second.stream == number;
      if (is_awaited && stream.role == kNone) {
        AddEdges(TailOf(stream), wait.task);
      }
    }
  }

  [[nodiscard]] Tasks::Row RowOf(const QueuedKernel& kernel, LaneId lane) {
    Tasks::Row row{.lane = lane,
                   .kind = kernel.task.communication ? TaskKind::kCollective : TaskKind::kKernel,
                   .duration_ps = kernel.task.duration_ps,
                   .name = program().strings.Intern(kernel.task.name),
                   .call = program().tasks.call[kernel.launch],
                   .launch = kernel.launch};
    if (kernel.task.role) {
      const DeviceRole& role = *kernel.task.role;
      row.part = parts_.Find({.category = program().strings.Intern(role.category),
                              .phase = role.phase,
                              .sm_share = role.sm_share,
                              .memory_share = role.memory_share,
                              .compute_share = role.compute_share,
                              .operation = role.operation},
                             program());
      row.microbatch = kernel.task.role->microbatch;
    }
    if (kernel.task.communication) {
      const RecordedCommunication& communication = *kernel.task.communication;
      row.communication = program().communications.Append({.role = RoleOf(communication),
                                                           .kind = communication.kind,
                                                           .bytes = communication.bytes,
                                                           .element = communication.element});
    }
    return row;
  }

  void FollowCommunications(const std::vector<std::int64_t>& storages, TaskId task) {
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

  void FollowAwaited(const Stream& stream, TaskId task) {
    for (const auto& [source, tail] : stream.awaited) {
      AddEdges(tail, task);
    }
  }

  void AddEdges(const std::vector<TaskId>& from, TaskId to) {
    for (const TaskId task : from) {
      program().edges.Append({.from = task, .to = to});
    }
  }

  // Of each lane the last task: those before it are done then.
  [[nodiscard]] std::vector<TaskId> TailOf(const Stream& stream) {
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

  Stream& StreamNumbered(std::int64_t number) {
    auto [stream, is_new] = streams_.try_emplace(number);
    if (is_new) {
      stream->second.lane =
          program().lanes.Append({.kind = LaneKind::kStream, .number = number, .gap_ps = gap_ps_});
    }
    return stream->second;
  }

  // Before the first task of a stream, an event is that of all it did in the step before.
  const Stream& StreamPassing(std::int64_t number) {
    Stream& stream = StreamNumbered(number);
    if (stream.last == kNone && stream.messages.empty()) {
      stream.last = program().tasks.Append({.lane = stream.lane, .kind = TaskKind::kRecord});
    }
    return stream;
  }

  std::uint32_t RoleOf(const RecordedCommunication& communication) {
    const auto [role, is_new] =
        roles_.try_emplace(communication.role, static_cast<std::uint32_t>(program().roles.size()));
    if (is_new) {
      program().AddRole(communication.role, communication.dimension);
    }
    return role->second;
  }

  Program& program() { return result_.recorded.program; }

  WalkResult& result_;
  const RecordedWaits& waits_;
  CommunicationStreams communications_;
  std::int64_t gap_ps_ = 0;
  std::vector<StreamEvent> events_;  // that somebody waits for, in order
  std::map<StreamEvent, std::vector<TaskId>> tails_;
  std::map<std::int64_t, Stream> streams_;
  std::map<std::string, std::uint32_t> roles_;
  std::map<std::uint32_t, LaneId> message_lanes_;  // by role
  std::vector<Unread> unread_;
  PartIndex parts_;
};

}  // namespace

void FillStreams(const HostModel& host, CommunicationStreams communications,
                 const RecordedWaits& waits, WalkResult& result) {
  StreamFiller(host, communications, waits, result).Fill();
}

}  // namespace orrery::workload
