#pragma once

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds an edge from the start of each launch call to the activity it launched, of a call that
/// launched many (a graph) to the first on each stream (E2, E10).
///
/// The weight is the launch latency: the smallest time from call to start that the recording of the
/// rank has for calls of that name, which is one on an idle stream if there was any. Above 30 µs
/// the stream must have waited for something; then it is the smallest of all calls, if that is
/// not above 30 µs too, else unknown and 0.
void AddLaunchEdges(RankPart& part);

}  // namespace orrery::analyze
