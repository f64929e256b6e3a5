#pragma once

#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/rendezvous.h"
#include "orrery/analyze/graph/node_numbering.h"
#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Adds the edges of the parts and of the rendezvous to a graph that has its nodes, grouped by
/// target. The parts are used up.
void GroupEdges(const NodeNumbering& numbering, const Rendezvous& rendezvous,
                std::vector<RankPart>& parts, DependencyGraph& graph);

}  // namespace orrery::analyze
