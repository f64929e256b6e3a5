#pragma once

#include "orrery/analyze/graph/dependency_graph.h"

namespace orrery::analyze {

/// Makes the order topological where nodes share an instant: edges of weight 0 between them decide.
/// Where such edges run in a circle one of them is replaced by an edge from the source, and counted
/// as a contradiction. Costs O(nodes + edges).
void OrderInstants(DependencyGraph& graph);

}  // namespace orrery::analyze
