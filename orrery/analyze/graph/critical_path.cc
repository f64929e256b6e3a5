#include "orrery/analyze/graph/critical_path.h"

#include <algorithm>
#include <numeric>
#include <tuple>

#include "orrery/analyze/run_view.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

// What is preferred among edges that explain a node equally well: the smallest.
auto Preference(const DependencyGraph& graph, EdgeId edge) {
  const NodeId from = graph.edge_from[edge];
  return std::tuple(graph.edge_kind[edge],
                    graph.edge_kind[edge] == EdgeKind::kEnd && !IsDeviceNode(graph.node_kind[from]),
                    graph.node_place[from], edge);
}

Hop HopTo(const DependencyGraph& graph, const Timing& timing, NodeId node) {
  const EdgeId edge = BindingEdge(graph, timing, node);
  Hop hop{
      .from = graph.edge_from[edge], .to = node, .edge = edge, .weight_ns = timing.weight_ns[edge]};
  hop.residual_ns = timing.time_ns[node] - timing.time_ns[hop.from] - hop.weight_ns;
  return hop;
}

void AddToSums(const DependencyGraph& graph, const Hop& hop, CriticalPath& path) {
  const TimeClass weight_class = graph.edge_class[hop.edge];
  const TimeClass residual_class = graph.ResidualClass(hop.to, hop.residual_ns);
  path.ns_by_class[static_cast<std::size_t>(weight_class)] += hop.weight_ns;
  path.ns_by_class[static_cast<std::size_t>(residual_class)] += hop.residual_ns;
  const std::uint32_t place = graph.node_place[hop.to];
  if (place != DependencyGraph::kNoPlace) {
    path.ns_by_place[place] +=
        hop.residual_ns + (weight_class == TimeClass::kTransfer ? 0 : hop.weight_ns);
  }
}

std::int64_t CountRankChanges(const DependencyGraph& graph, const std::vector<Hop>& hops) {
  std::int64_t changes = 0;
  std::uint32_t last_place = DependencyGraph::kNoPlace;
  for (const Hop& hop : hops) {
    const std::uint32_t place = graph.node_place[hop.to];
    if (place == DependencyGraph::kNoPlace) {
      continue;
    }
    changes += last_place != DependencyGraph::kNoPlace && last_place != place ? 1 : 0;
    last_place = place;
  }
  return changes;
}

const trace::Trace& TraceOfNode(const RunView& run, const DependencyGraph& graph, NodeId node) {
  return run.set->ranks[graph.rank_index[graph.node_place[node]]];
}

std::string_view HostName(const trace::Trace& trace, std::uint32_t packed) {
  if (packed == kNoLabel) {
    return {};
  }
  const HostLabel label = UnpackHostLabel(packed);
  return trace.Text(label.is_call ? trace.runtime_calls.name[label.row]
                                  : trace.host_ops.name[label.row]);
}

std::string_view NodeName(const trace::Trace& trace, NodeKind kind, RowId row) {
  switch (kind) {
    case NodeKind::kActivityStart:
    case NodeKind::kActivityEnd:
      return trace.Text(trace.activities.name[row]);
    case NodeKind::kCallStart:
    case NodeKind::kCallEnd:
      return trace.Text(trace.runtime_calls.name[row]);
    case NodeKind::kOperatorStart:
    case NodeKind::kOperatorEnd:
      return trace.Text(trace.host_ops.name[row]);
    default:
      return {};
  }
}

}  // namespace

std::int64_t CriticalPath::length_ns() const {
  return std::accumulate(ns_by_class.begin(), ns_by_class.end(), std::int64_t{0});
}

EdgeId BindingEdge(const DependencyGraph& graph, const Timing& timing, NodeId node) {
  EdgeId best = graph.first_edge[node];
  std::int64_t best_ns = timing.time_ns[graph.edge_from[best]] + timing.weight_ns[best];
  for (EdgeId edge = best + 1; edge < graph.first_edge[node + 1]; ++edge) {
    const std::int64_t at_ns = timing.time_ns[graph.edge_from[edge]] + timing.weight_ns[edge];
    const bool is_better =
        at_ns > best_ns || (at_ns == best_ns && Preference(graph, edge) < Preference(graph, best));
    if (is_better) {
      best = edge;
      best_ns = at_ns;
    }
  }
  return best;
}

CriticalPath FindCriticalPath(const DependencyGraph& graph, const Timing& timing) {
  CriticalPath path;
  path.ns_by_place.resize(graph.rank_index.size());
  if (graph.empty()) {
    return path;
  }
  for (NodeId node = graph.sink(); node != 0; node = path.hops.back().from) {
    path.hops.push_back(HopTo(graph, timing, node));
    AddToSums(graph, path.hops.back(), path);
  }
  std::ranges::reverse(path.hops);
  path.num_rank_changes = CountRankChanges(graph, path.hops);
  return path;
}

std::vector<std::int64_t> FindSlack(const DependencyGraph& graph) {
  if (graph.empty()) {
    return {};
  }
  // First the latest time of each node, then its distance from the recorded one.
  std::vector<std::int64_t> slack_ns(graph.num_nodes(), graph.time_ns.back());
  for (NodeId node = graph.num_nodes(); node-- > 0;) {
    const std::int64_t explained_ns = slack_ns[node] - graph.ResidualNs(node);
    for (const EdgeId edge : graph.EdgesTo(node)) {
      std::int64_t& latest_ns = slack_ns[graph.edge_from[edge]];
      latest_ns = std::min(latest_ns, explained_ns - graph.weight_ns[edge]);
    }
    slack_ns[node] -= graph.time_ns[node];
  }
  return slack_ns;
}

std::string_view HopName(const RunView& run, const DependencyGraph& graph, const Hop& hop) {
  if (graph.node_place[hop.to] == DependencyGraph::kNoPlace) {
    return {};
  }
  const trace::Trace& trace = TraceOfNode(run, graph, hop.to);
  const bool is_along_thread = graph.edge_kind[hop.edge] == EdgeKind::kThread &&
                               graph.edge_class[hop.edge] != TimeClass::kSync;
  return is_along_thread ? HostName(trace, graph.edge_label[hop.edge])
                         : NodeName(trace, graph.node_kind[hop.to], graph.node_row[hop.to]);
}

std::string_view HopOperator(const RunView& run, const DependencyGraph& graph, const Hop& hop) {
  if (!IsDeviceNode(graph.node_kind[hop.to])) {
    return {};
  }
  const trace::Trace& trace = TraceOfNode(run, graph, hop.to);
  const RowId op = trace.activities.host_op[graph.node_row[hop.to]];
  return op == kNoRow ? std::string_view{} : trace.Text(trace.host_ops.name[op]);
}

}  // namespace orrery::analyze
