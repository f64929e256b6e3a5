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

/// Work that is launched on `stream` after `order` begins after the event.
struct StreamWait {
  std::int64_t order = 0;
  std::int64_t stream = 0;
  StreamEvent event;

  bool operator==(const StreamWait&) const = default;
};

/// The target of a call of the host that waits: an event, a stream, or, with neither, everything.
struct HostWait {
  std::optional<StreamEvent> event = {};
  std::optional<std::int64_t> stream = {};
};

/// The synchronisation in a recording.
struct RecordedWaits {
  std::vector<StreamWait> of_streams;
  std::map<RowId, HostWait> of_calls;  // by RuntimeCalls
  std::int64_t unknown = 0;            // streams that wait for an event without a record
  bool are_inferred = false;           // from calls alone, which name neither stream nor event
};

/// Collects what the profiler recorded of synchronisation.
///
/// Where it was not asked to (PyTorch: enable_cuda_sync_events), there are only the calls, which
/// name neither stream nor event. A call that makes a stream wait is then taken to be about the
/// stream of the next launch, which waits for all that was launched on other streams before the
/// last event that the host recorded. Where the recording shows that this had not ended when the
/// launched work began, an earlier event of the same step stands for it, or none.
[[nodiscard]] RecordedWaits WaitsOf(const trace::Trace& recording);

}  // namespace orrery::workload
