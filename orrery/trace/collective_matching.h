#pragma once

#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::trace {

/// Finds for each collective its counterparts on the other ranks. Every group of ranks uses the
/// first rule that all its ranks support (MatchRule in order; sends and receives with known peers
/// always kPeerOrder). Rows with kernels are matched when a rank has any, else its calls. What
/// stays without counterpart is counted.
///
/// Costs O(n log n) in the number of collectives. The result does not depend on the order of the
/// ranks in the set, apart from `rank_index`.
[[nodiscard]] MatchedCollectives MatchCollectives(const TraceSet& set);

}  // namespace orrery::trace
