#pragma once

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds starts and ends of operators and runtime calls that lie inside the step, thread after
/// thread; threads that only look on (watchdogs) are left out and counted. What happens inside a
/// call that can block is part of that call.
void AddHostNodes(RankPart& part);

/// Adds the edges along threads (E1): the time between neighbours belongs to the innermost open
/// event. Expects blocking calls and hand-overs to be marked, whose time is explained otherwise.
void AddThreadEdges(RankPart& part);

}  // namespace orrery::analyze
