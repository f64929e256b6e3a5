#pragma once

#include <vector>

#include "orrery/ingest/torch_snapshot/snapshot.h"
#include "orrery/trace/trace.h"

namespace orrery::ingest::torch_snapshot {

/// Replays the history of a device forwards from what it began with, up to the final state, which
/// it is compared with. Events and marks go to `trace`, objects to `objects` (their `parent` is an
/// index there), what does not fit together to the trace's problems.
void ReplayHistory(const DeviceMemory& memory, trace::Trace& trace,
                   std::vector<trace::MemoryObjects::Row>& objects);

}  // namespace orrery::ingest::torch_snapshot
