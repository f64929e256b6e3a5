#pragma once

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds start and end of the activities that lie inside the step, stream after stream.
void AddDeviceNodes(RankPart& part);

/// Adds what each activity does (E0; not where a rendezvous explains its end) and the order of
/// activities on their stream (E3).
void AddDeviceEdges(RankPart& part);

/// Adds starts and ends of operators and runtime calls that lie inside the step, thread after
/// thread; threads that only look on (watchdogs) are left out and counted. What happens inside a
/// call that can block is part of that call.
void AddHostNodes(RankPart& part);

/// Adds the edges along threads (E1): the time between neighbours belongs to the innermost open
/// event. Expects blocking calls and hand-overs to be marked, whose time is explained otherwise.
void AddThreadEdges(RankPart& part);

/// Adds edges between threads that take turns (E9), such as forward and backward: where a burst of
/// events of one thread begins in a pause of the other, it began because the other came to the
/// pause; and where it ends in one, the other goes on because the burst is over. The nodes so
/// explained are marked. (The other may do a little in between, such as accumulating a gradient.)
///
/// Threads take turns when one runs backward operators of the other's forward operators.
void AddHandOvers(RankPart& part);

}  // namespace orrery::analyze
