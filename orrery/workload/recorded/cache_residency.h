#pragma once

#include <span>
#include <vector>

#include "orrery/base/units.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/priced_calls.h"

namespace orrery::workload {

/// Tells, for each call, which share of the bytes it reads is still in the cache because a call
/// shortly before wrote or read them: those of storages touched less than `cache` bytes of other
/// tensors ago (least recently used goes first). Calls in order; 0 where storages are not recorded.
[[nodiscard]] std::vector<double> WarmShares(const trace::Trace& graph,
                                             std::span<const PricedCall> calls, Bytes cache);

}  // namespace orrery::workload
