#pragma once

#include <cstdint>

#include "orrery/trace/graph_match.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {

/// How many nodes of an execution trace were linked.
struct GraphLinkSummary {
  GraphLinkRule rule = GraphLinkRule::kNone;
  std::int64_t linked = 0;    // operators and annotations that have a row in the recording
  std::int64_t unlinked = 0;  // those that have none
};

/// Moves the graph nodes of an execution trace into the recording of the same rank, and links them
/// with its operators and annotations (see MatchGraph) and through these with its collectives,
/// which learn sizes, types, groups and sequence numbers they did not know. The recording must be
/// finished: rows do not move.
///
/// Nodes that cannot be linked are kept all the same, and a problem says so. Where the nodes are of
/// another step than the recording, what differs from step to step is not filled in. GPU activities
/// of a merged execution trace are those of the recording and are left out; their nodes stay.
GraphLinkSummary LinkGraph(Trace& recording, Trace&& graph);

}  // namespace orrery::trace
