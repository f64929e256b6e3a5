#pragma once

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds edges between threads that take turns (E9), such as forward and backward: where a burst of
/// events of one thread begins in a pause of the other, it began because the other came to the
/// pause; and where it ends in one, the other goes on because the burst is over. The nodes so
/// explained are marked. (The other may do a little in between, such as accumulating a gradient.)
///
/// Threads take turns when one runs backward operators of the other's forward operators.
void AddHandOvers(RankPart& part);

}  // namespace orrery::analyze
