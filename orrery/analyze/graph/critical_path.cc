#include "orrery/analyze/graph/critical_path.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

// Returns the order of preference among edges that explain a node equally well: the smallest wins.
auto Preference(const DependencyGraph& graph, EdgeId edge) {
  const NodeId from = graph.edge_from[edge];
  return std::tuple(graph.edge_kind[edge],
                    graph.edge_kind[edge] == EdgeKind::kEnd && !IsDeviceNode(graph.node_kind[from]),
                    graph.node_place[from], edge);
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

// Orders the nodes of one instant, which are neighbours, so that edges go forward.
class Instant {
 public:
  Instant(DependencyGraph& graph, NodeId first, NodeId end)
      : graph_(graph), first_(first), end_(end), state_(end - first, State::kNew) {}

  /// The new order, by old ids.
  std::vector<NodeId> Order() {
    for (NodeId node = first_; node < end_; ++node) {
      Visit(node);
    }
    return std::move(order_);
  }

 private:
  enum class State : std::uint8_t { kNew, kOpen, kDone };

  struct Frame {
    NodeId node = 0;
    EdgeId next_edge = 0;
  };

  [[nodiscard]] State& StateOf(NodeId node) { return state_[node - first_]; }

  [[nodiscard]] bool IsInside(NodeId node) const { return node >= first_ && node < end_; }

  void Open(NodeId node) {
    StateOf(node) = State::kOpen;
    frames_.push_back({node, graph_.first_edge[node]});
  }

  // Depth first along the edges into a node, without recursion: instants may be large.
  void Visit(NodeId root) {
    if (StateOf(root) == State::kNew) {
      Open(root);
    }
    while (!frames_.empty()) {
      Frame& frame = frames_.back();
      if (frame.next_edge == graph_.first_edge[frame.node + 1]) {
        StateOf(frame.node) = State::kDone;
        order_.push_back(frame.node);
        frames_.pop_back();
      } else {
        Follow(frame.next_edge++);
      }
    }
  }

  void Follow(EdgeId edge) {
    const NodeId from = graph_.edge_from[edge];
    if (!IsInside(from) || StateOf(from) == State::kDone) {
      return;
    }
    if (StateOf(from) == State::kOpen) {
      graph_.edge_from[edge] = 0;
      graph_.weight_ns[edge] = graph_.time_ns[first_] - graph_.time_ns[0];
      graph_.edge_kind[edge] = EdgeKind::kStart;
      graph_.edge_class[edge] = TimeClass::kStart;
      graph_.edge_label[edge] = kNoLabel;
      ++graph_.counts.dropped_edges;
    } else {
      Open(from);
    }
  }

  DependencyGraph& graph_;
  NodeId first_;
  NodeId end_;
  std::vector<State> state_;
  std::vector<Frame> frames_;
  std::vector<NodeId> order_;
};

template <typename T>
void Permute(std::vector<T>& column, std::size_t first, const std::vector<std::uint32_t>& order) {
  std::vector<T> moved;
  moved.reserve(order.size());
  for (const std::uint32_t old : order) {
    moved.push_back(column[old]);
  }
  std::ranges::move(moved, column.begin() + static_cast<std::ptrdiff_t>(first));
}

bool HasBackwardEdge(const DependencyGraph& graph, NodeId first, NodeId end) {
  for (NodeId node = first; node < end; ++node) {
    for (const EdgeId edge : graph.EdgesTo(node)) {
      if (graph.edge_from[edge] >= node) {
        return true;
      }
    }
  }
  return false;
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
    const EdgeId edge = BindingEdge(graph, timing, node);
    Hop hop{.from = graph.edge_from[edge],
            .to = node,
            .edge = edge,
            .weight_ns = timing.weight_ns[edge]};
    hop.residual_ns = timing.time_ns[node] - timing.time_ns[hop.from] - hop.weight_ns;
    path.hops.push_back(hop);
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
  std::ranges::reverse(path.hops);
  std::int64_t changes = 0;
  std::uint32_t last_place = DependencyGraph::kNoPlace;
  for (const Hop& hop : path.hops) {
    const std::uint32_t place = graph.node_place[hop.to];
    if (place == DependencyGraph::kNoPlace) {
      continue;
    }
    changes += last_place != DependencyGraph::kNoPlace && last_place != place ? 1 : 0;
    last_place = place;
  }
  path.num_rank_changes = changes;
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

void OrderInstants(DependencyGraph& graph) {
  std::vector<NodeId> new_id;  // of each node; only filled when some node moves
  for (NodeId first = 1; first < graph.sink();) {
    // The first and the last node keep their places.
    NodeId end = first + 1;
    while (end < graph.sink() && graph.time_ns[end] == graph.time_ns[first]) {
      ++end;
    }
    if (end - first > 1 && HasBackwardEdge(graph, first, end)) {
      const std::vector<NodeId> order = Instant(graph, first, end).Order();
      new_id.resize(graph.num_nodes(), kNoNode);
      for (NodeId place = 0; place < order.size(); ++place) {
        new_id[order[place]] = first + place;
      }
      std::vector<EdgeId> edges;
      std::vector<EdgeId> starts;
      const EdgeId begin = graph.first_edge[first];
      for (const NodeId node : order) {
        starts.push_back(begin + static_cast<EdgeId>(edges.size()));
        for (const EdgeId edge : graph.EdgesTo(node)) {
          edges.push_back(edge);
        }
      }
      Permute(graph.edge_from, begin, edges);
      Permute(graph.weight_ns, begin, edges);
      Permute(graph.edge_kind, begin, edges);
      Permute(graph.edge_class, begin, edges);
      Permute(graph.edge_label, begin, edges);
      std::ranges::copy(starts, graph.first_edge.begin() + first);
      Permute(graph.node_kind, first, order);
      Permute(graph.node_row, first, order);
      Permute(graph.node_place, first, order);
    }
    first = end;
  }
  if (new_id.empty()) {
    return;
  }
  for (NodeId& from : graph.edge_from) {
    from = new_id[from] == kNoNode ? from : new_id[from];
  }
}

}  // namespace orrery::analyze
