#include "orrery/analyze/graph/dependency_graph.h"

#include <algorithm>
#include <array>
#include <limits>

namespace orrery::analyze {

std::string_view TimeClassName(TimeClass time_class) {
  constexpr std::array<std::string_view, kNumTimeClasses> kNames = {
      "compute",         "memory",      "communication", "transfer", "host",
      "host_gap",        "launch",      "sync",          "start",    "order",
      "launch_overhead", "device_wait", "missing_rank"};
  return kNames[static_cast<std::size_t>(time_class)];
}

GraphCounts& GraphCounts::operator+=(const GraphCounts& other) {
  checked_edges += other.checked_edges;
  shortened_edges += other.shortened_edges;
  dropped_edges += other.dropped_edges;
  stream_overlaps += other.stream_overlaps;
  inferred_events += other.inferred_events;
  inferred_syncs += other.inferred_syncs;
  full_queues += other.full_queues;
  unmatched_collectives += other.unmatched_collectives;
  unreliable_matches += other.unreliable_matches;
  graph_activities += other.graph_activities;
  without_launch += other.without_launch;
  idle_threads += other.idle_threads;
  num_activities += other.num_activities;
  return *this;
}

std::int64_t DependencyGraph::ExplainedNs(NodeId node) const {
  if (first_edge[node] == first_edge[node + 1]) {
    return time_ns[node];
  }
  std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
  for (const EdgeId edge : EdgesTo(node)) {
    latest_ns = std::max(latest_ns, time_ns[edge_from[edge]] + weight_ns[edge]);
  }
  return latest_ns;
}

TimeClass DependencyGraph::ResidualClass(NodeId node, std::int64_t residual_ns) const {
  switch (node_kind[node]) {
    case NodeKind::kActivityStart:
    case NodeKind::kActivityEnd:
      return residual_ns < launch_gap_ns ? TimeClass::kLaunchOverhead : TimeClass::kDeviceWait;
    case NodeKind::kRendezvous:
      return TimeClass::kMissingRank;
    case NodeKind::kCallEnd:
      return TimeClass::kSync;
    default:
      return TimeClass::kHostGap;
  }
}

}  // namespace orrery::analyze
