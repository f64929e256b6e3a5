#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// Shortens the host and compute weights of one rank (given by its place) wherever it needed longer
/// from one collective of a group to the next than the median of the group's ranks, so that it
/// needs as long as they. Where such segments of several groups overlap, the strongest counts.
void ShortenLateSegments(const RunView& run, const DependencyGraph& graph, std::uint32_t place,
                         std::vector<std::int64_t>& weight_ns);

}  // namespace orrery::analyze
