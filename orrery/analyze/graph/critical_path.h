#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"

namespace orrery::analyze {

/// When the nodes of a graph happen and what its edges weigh: as recorded, or as replayed.
struct Timing {
  std::span<const std::int64_t> time_ns;    // by node
  std::span<const std::int64_t> weight_ns;  // by edge
};

[[nodiscard]] inline Timing RecordedTiming(const DependencyGraph& graph) {
  return {.time_ns = graph.time_ns, .weight_ns = graph.weight_ns};
}

/// One edge of the path and the unexplained delay of the node it leads to.
struct Hop {
  NodeId from = 0;
  NodeId to = 0;
  EdgeId edge = 0;
  std::int64_t weight_ns = 0;
  std::int64_t residual_ns = 0;

  [[nodiscard]] std::int64_t length_ns() const { return weight_ns + residual_ns; }
};

/// The chain of edges that a step waited for, from its source to its sink without a gap.
struct CriticalPath {
  std::vector<Hop> hops;  // in order of time
  std::array<std::int64_t, kNumTimeClasses> ns_by_class = {};
  std::vector<std::int64_t> ns_by_place;  // in order of rank; transfers belong to no rank
  std::int64_t num_rank_changes = 0;

  [[nodiscard]] std::int64_t ClassNs(TimeClass time_class) const {
    return ns_by_class[static_cast<std::size_t>(time_class)];
  }

  [[nodiscard]] std::int64_t length_ns() const;

  [[nodiscard]] std::int64_t unexplained_ns() const {
    return ClassNs(TimeClass::kLaunchOverhead) + ClassNs(TimeClass::kDeviceWait) +
           ClassNs(TimeClass::kMissingRank);
  }
};

/// Returns the edge that decides when a node happens; among equals by kind of edge, then lower
/// rank, then lower number. Of the sink: device before host.
[[nodiscard]] EdgeId BindingEdge(const DependencyGraph& graph, const Timing& timing, NodeId node);

/// Follows binding edges from the sink back to the source. The hops are contiguous and sum to the
/// step.
[[nodiscard]] CriticalPath FindCriticalPath(const DependencyGraph& graph, const Timing& timing);

/// Returns for each node by how much it could be later without moving the sink; one pass backwards.
[[nodiscard]] std::vector<std::int64_t> FindSlack(const DependencyGraph& graph);

/// Returns the name of what the hop spent its time on: a kernel, an operator or a call; empty where
/// there is none.
[[nodiscard]] std::string_view HopName(const RunView& run, const DependencyGraph& graph,
                                       const Hop& hop);

[[nodiscard]] std::string_view HopOperator(const RunView& run, const DependencyGraph& graph,
                                           const Hop& hop);

/// Makes the order topological where nodes share an instant: edges of weight 0 between them decide.
/// Where such edges run in a circle one of them is replaced by an edge from the source, and counted
/// as a contradiction. Costs O(nodes + edges).
void OrderInstants(DependencyGraph& graph);

}  // namespace orrery::analyze
