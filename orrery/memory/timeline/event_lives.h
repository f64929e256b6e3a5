#pragma once

#include "orrery/memory/timeline/history.h"

namespace orrery::memory::timeline {

/// The history that allocator events tell. A free ends the life at its address; without an address
/// (predictions) events change the sum of their name. What the allocator held before its first
/// event is what its total says.
[[nodiscard]] MemoryHistory HistoryOfEvents(const trace::Trace& trace);

}  // namespace orrery::memory::timeline
