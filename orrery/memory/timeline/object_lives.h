#pragma once

#include "orrery/memory/timeline/history.h"

namespace orrery::memory::timeline {

/// The history that memory objects tell; totals of allocator events say what the allocator held
/// before, and what it has reserved where segments were not recorded. An allocation of the driver
/// in which something lies is the allocator's and not counted twice.
[[nodiscard]] MemoryHistory HistoryOfObjects(const trace::Trace& trace);

}  // namespace orrery::memory::timeline
