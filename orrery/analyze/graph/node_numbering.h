#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/graph/rendezvous.h"

namespace orrery::analyze {

/// Where the nodes of all parts and the rendezvous are in the graph.
class NodeNumbering {
 public:
  /// Adds source, sink and all nodes to an empty graph in order of time; at equal times ends come
  /// before starts and rendezvous last, then rank, lane and place in the lane decide. Parts are
  /// sorted in parallel and merged.
  NodeNumbering(const std::vector<RankPart>& parts, const Rendezvous& rendezvous, int threads,
                DependencyGraph& graph);

  [[nodiscard]] NodeId Of(std::size_t place, NodeId node) const { return new_id_[place][node]; }

  [[nodiscard]] NodeId OfRendezvous(std::size_t rendezvous) const {
    return new_id_.back()[rendezvous];
  }

 private:
  std::vector<std::vector<NodeId>> new_id_;  // of each part, then of the rendezvous
};

/// Adds the edges of the parts and of the rendezvous to a graph that has its nodes, grouped by
/// target. The parts are used up.
void GroupEdges(const NodeNumbering& numbering, const Rendezvous& rendezvous,
                std::vector<RankPart>& parts, DependencyGraph& graph);

}  // namespace orrery::analyze
