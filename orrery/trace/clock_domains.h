#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace_set.h"

namespace orrery::trace {

/// Returns for each trace of the set the number of its clock. Ranks of one host that count from
/// 1970 read the same clock; any other rank has its own. The host is the trace's host name, else
/// the node that the card's devices per node put it on. Clocks are numbered in order of their
/// lowest rank.
[[nodiscard]] std::vector<std::uint32_t> ClockOfRank(const TraceSet& set);

}  // namespace orrery::trace
