#pragma once

#include "orrery/analyze/graph/rank_part.h"
#include "orrery/base/interval_set.h"

namespace orrery::analyze {

/// Returns the activity (its start) whose end let a launch into the queue of its stream, when the
/// queue was full: about a thousand launches wait there before a call blocks. kNoNode when it was
/// not, or nothing ended during the call. `launched` is the start of what the call launched.
[[nodiscard]] NodeId FreedPlaceInQueue(const RankPart& part, NodeId launched, Interval call);

}  // namespace orrery::analyze
