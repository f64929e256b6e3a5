#pragma once

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds start and end of the activities that lie inside the step, stream after stream.
void AddDeviceNodes(RankPart& part);

/// Adds what each activity does (E0; not where a rendezvous explains its end) and the order of
/// activities on their stream (E3).
void AddDeviceEdges(RankPart& part);

}  // namespace orrery::analyze
