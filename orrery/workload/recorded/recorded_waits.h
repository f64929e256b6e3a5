#pragma once

#include <compare>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "orrery/trace/trace.h"

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

/// Who waits for whom in a recording.
struct RecordedWaits {
  std::vector<StreamWait> of_streams;
  std::map<RowId, HostWait> of_calls;  // by RuntimeCalls
  std::int64_t unknown = 0;            // streams that wait for an event nobody recorded
};

/// Collects what the profiler recorded of synchronisation; nothing where it was not asked to.
[[nodiscard]] RecordedWaits WaitsOf(const trace::Trace& recording);

}  // namespace orrery::workload
