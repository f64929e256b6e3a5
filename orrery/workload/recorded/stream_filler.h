#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
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
/// that stream for those who wait for it: what one rank sends and receives at once, in whatever
/// order, its neighbours do at once.
void FillStreams(const HostModel& host, CommunicationStreams communications,
                 const RecordedWaits& waits, WalkResult& result);

}  // namespace orrery::workload
