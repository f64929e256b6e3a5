#include "orrery/analyze/graph/instant_order.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {
namespace {

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
      BreakCircle(edge);
    } else {
      Open(from);
    }
  }

  void BreakCircle(EdgeId edge) {
    graph_.edge_from[edge] = 0;
    graph_.weight_ns[edge] = graph_.time_ns[first_] - graph_.time_ns[0];
    graph_.edge_kind[edge] = EdgeKind::kStart;
    graph_.edge_class[edge] = TimeClass::kStart;
    graph_.edge_label[edge] = kNoLabel;
    ++graph_.counts.dropped_edges;
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

void PermuteEdges(DependencyGraph& graph, NodeId first, const std::vector<NodeId>& order) {
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
}

void PermuteNodes(DependencyGraph& graph, NodeId first, const std::vector<NodeId>& order) {
  PermuteEdges(graph, first, order);
  Permute(graph.node_kind, first, order);
  Permute(graph.node_row, first, order);
  Permute(graph.node_place, first, order);
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

// The first and the last node keep their places.
NodeId EndOfInstant(const DependencyGraph& graph, NodeId first) {
  NodeId end = first + 1;
  while (end < graph.sink() && graph.time_ns[end] == graph.time_ns[first]) {
    ++end;
  }
  return end;
}

}  // namespace

void OrderInstants(DependencyGraph& graph) {
  std::vector<NodeId> new_id;  // of each node; only filled when some node moves
  for (NodeId first = 1; first < graph.sink();) {
    const NodeId end = EndOfInstant(graph, first);
    if (end - first > 1 && HasBackwardEdge(graph, first, end)) {
      const std::vector<NodeId> order = Instant(graph, first, end).Order();
      new_id.resize(graph.num_nodes(), kNoNode);
      for (NodeId place = 0; place < order.size(); ++place) {
        new_id[order[place]] = first + place;
      }
      PermuteNodes(graph, first, order);
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
