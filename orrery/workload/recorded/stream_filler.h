#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/host_model.h"
#include "orrery/workload/recorded/host_walk.h"

namespace orrery::workload {

/// An event that a stream passes: when the host records it, and on which stream.
struct StreamEvent {
  std::int64_t order = 0;
  std::int64_t stream = 0;

  auto operator<=>(const StreamEvent&) const = default;
};

/// What is launched on `stream` after `order` begins after the event.
struct StreamWait {
  std::int64_t order = 0;
  std::int64_t stream = 0;
  StreamEvent event;

  bool operator==(const StreamWait&) const = default;
};

/// What a call of the host waits for: an event, a stream, or, with neither, everything.
struct HostWait {
  std::optional<StreamEvent> event = {};
  std::optional<std::int64_t> stream = {};

  bool operator==(const HostWait&) const = default;
};

/// The synchronisation in a recording.
struct RecordedWaits {
  std::vector<StreamWait> of_streams;
  std::map<RowId, HostWait> of_calls;  // by RuntimeCalls
  std::int64_t unknown = 0;            // streams that wait for an event nobody recorded
};

/// Collects what the profiler recorded of synchronisation; nothing where it was not asked to.
[[nodiscard]] RecordedWaits WaitsOf(const trace::Trace& recording);

/// Where communications run.
enum class CommunicationStreams : std::uint8_t {
  kOfTheirGroup,  // behind what was launched before; who touches what they write waits for them
  kAsRecorded,    // with the waits that were recorded; messages beside each other
};

/// Puts kernels on their streams in the order of their launches, and adds the dependencies of
/// waits.
///
/// A message runs on a lane of its own, behind what its stream had before it, and counts as work of
/// that stream for those who wait for it: what one rank sends and receives at once, in which order
/// ever, its neighbours do at once.
class StreamFiller {
 public:
  StreamFiller(const HostModel& host, CommunicationStreams communications,
               const RecordedWaits& waits, WalkResult& result);

  void Fill();

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

  enum class Turn : std::uint8_t { kKernel, kRecord, kStreamWait, kHostWait };

  /// Something that happens on streams, in the order of the host's calls.
  struct Happening {
    std::int64_t order = 0;
    Turn turn = Turn::kKernel;
    std::size_t place = 0;
  };

  [[nodiscard]] std::vector<Happening> Happenings();
  void Handle(const Happening& happening);
  void AddKernel(const QueuedKernel& kernel);
  void AddMessage(const QueuedKernel& kernel);
  void AddHostWait(const QueuedWait& wait);
  [[nodiscard]] Tasks::Row RowOf(const QueuedKernel& kernel, LaneId lane);
  [[nodiscard]] CommunicationId CommunicationOf(const RecordedCommunication& communication);
  [[nodiscard]] PartId PartOf(const DeviceRole& role);
  void FollowStream(std::int64_t number, TaskId task);
  void FollowCommunications(const std::vector<std::int64_t>& storages, TaskId task);
  void FollowAwaited(const Stream& stream, TaskId task);
  void AddEdges(const std::vector<TaskId>& from, TaskId to);
  [[nodiscard]] std::vector<TaskId> TailOf(const Stream& stream);
  Stream& StreamNumbered(std::int64_t number);
  const Stream& StreamPassing(std::int64_t number);
  std::uint32_t RoleNamed(const std::string& name);

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

}  // namespace orrery::workload
