#include "orrery/analyze/graph/edge_grouping.h"

#include <cstddef>
#include <cstdint>
#include <utility>

namespace orrery::analyze {
namespace {

// Groups edges by target in two passes: first all are counted, then all are placed.
class EdgeGrouping {
 public:
  explicit EdgeGrouping(DependencyGraph& graph) : graph_(graph) {
    graph.first_edge.reserve(graph.num_nodes() + std::size_t{2});
    graph.first_edge.assign(graph.num_nodes() + std::size_t{1}, 0);
  }

  void Count(NodeId to) { ++graph_.first_edge[to + 1]; }

  void StartPlacing() {
    for (NodeId node = 0; node < graph_.num_nodes(); ++node) {
      graph_.first_edge[node + 1] += graph_.first_edge[node];
    }
    const EdgeId count = graph_.first_edge.back();
    graph_.edge_from.resize(count);
    graph_.weight_ns.resize(count);
    graph_.edge_kind.resize(count);
    graph_.edge_class.resize(count);
    graph_.edge_label.resize(count);
  }

  void Place(const PartEdge& edge) {
    const EdgeId place = graph_.first_edge[edge.to]++;
    graph_.edge_from[place] = edge.from;
    graph_.weight_ns[place] = edge.weight_ns;
    graph_.edge_kind[place] = edge.kind;
    graph_.edge_class[place] = edge.time_class;
    graph_.edge_label[place] = edge.label;
  }

  /// Placing has moved the beginning of each group to its end, which is where the next one begins.
  void Finish() {
    graph_.first_edge.insert(graph_.first_edge.begin(), 0);
    graph_.first_edge.pop_back();
  }

 private:
  DependencyGraph& graph_;
};

// Calls `visit(edge)` for the edges of a part, between nodes of the graph.
template <typename Visit>
void ForEachPartEdge(const DependencyGraph& graph, const NodeNumbering& numbering,
                     const RankPart& part, std::size_t place, Visit&& visit) {
  for (PartEdge edge : part.edges) {
    edge.from = edge.from == kNoNode ? 0 : numbering.Of(place, edge.from);
    edge.to = edge.to == kNoNode ? graph.sink() : numbering.Of(place, edge.to);
    visit(edge);
  }
}

template <typename Visit>
void ForEachRendezvousEdge(const DependencyGraph& graph, const NodeNumbering& numbering,
                        const Rendezvous& rendezvous, Visit&& visit) {
  for (std::size_t index = 0; index < rendezvous.size(); ++index) {
    const NodeId node = numbering.OfRendezvous(index);
    for (const RendezvousMember& member : rendezvous.MembersOf(index)) {
      visit(PartEdge{.from = numbering.Of(member.place, member.start),
                     .to = node,
                     .kind = EdgeKind::kRendezvous,
                     .label = rendezvous.instance[index]});
      if (member.end != kNoNode) {
        const NodeId end = numbering.Of(member.place, member.end);
        visit(PartEdge{.from = node,
                       .to = end,
                       .weight_ns = graph.time_ns[end] - graph.time_ns[node],
                       .kind = EdgeKind::kRendezvous,
                       .time_class = TimeClass::kTransfer,
                       .label = rendezvous.instance[index]});
      }
    }
  }
}

// The nodes of a part are in the graph by now; only its edges are still needed.
void ReleaseNodes(RankPart& part) {
  std::exchange(part.time_ns, {});
  std::exchange(part.kind, {});
  std::exchange(part.row, {});
  std::exchange(part.open, {});
}

}  // namespace

void GroupEdges(const NodeNumbering& numbering, const Rendezvous& rendezvous,
                std::vector<RankPart>& parts, DependencyGraph& graph) {
  EdgeGrouping grouping(graph);
  const auto count = [&](const PartEdge& edge) { grouping.Count(edge.to); };
  const auto place = [&](const PartEdge& edge) { grouping.Place(edge); };
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ReleaseNodes(parts[part]);
    ForEachPartEdge(graph, numbering, parts[part], part, count);
  }
  ForEachRendezvousEdge(graph, numbering, rendezvous, count);
  grouping.StartPlacing();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ForEachPartEdge(graph, numbering, parts[part], part, place);
    std::exchange(parts[part].edges, {});
    graph.counts += parts[part].counts;
  }
  ForEachRendezvousEdge(graph, numbering, rendezvous, place);
  grouping.Finish();
  graph.counts += rendezvous.counts;
}

}  // namespace orrery::analyze
