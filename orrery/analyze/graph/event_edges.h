#pragma once

#include <vector>

#include "orrery/analyze/graph/launch_order.h"
#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds an edge for each stream that waited for an event (E4): from the end of the last activity
/// launched before the record to the start of the first one launched after the wait.
///
/// Recordings without synchronisation records do not say which stream waits for which: there an
/// activity that was launched after a wait call is taken to have waited for what ended within 20 µs
/// before its start on another stream, if nothing else explains the start better.
void AddEventEdges(RankPart& part, const std::vector<LaunchOrder>& orders);

}  // namespace orrery::analyze
