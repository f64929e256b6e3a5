#pragma once

#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/meetings.h"
#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// Puts the parts of all ranks and their meetings together: adds source, sink and meetings, numbers
/// the nodes in order of time and groups the edges by target. The edges of the parts are used up.
[[nodiscard]] DependencyGraph Assemble(std::vector<RankPart>& parts, const Meetings& meetings,
                                       int threads);

}  // namespace orrery::analyze
