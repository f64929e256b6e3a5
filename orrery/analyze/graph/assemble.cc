#include "orrery/analyze/graph/assemble.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <utility>

#include "orrery/analyze/graph/node_order.h"
#include "orrery/base/parallel.h"

namespace orrery::analyze {
namespace {

// Numbers the nodes of all parts and meetings, and fills their columns.
class NodeNumbering {
 public:
  NodeNumbering(const std::vector<RankPart>& parts, const Meetings& meetings, int threads)
      : parts_(parts), meetings_(meetings) {
    new_id_.resize(parts.size() + 1);
    lists_.resize(parts.size() + 1);
    FindSpan();
    ParallelFor(parts.size() + 1, threads, [&](std::size_t list) {
      lists_[list] = list == parts.size() ? OrderNodes(meetings, begin_ns_)
                                          : OrderNodes(parts[list], begin_ns_);
      new_id_[list].resize(lists_[list].size());
    });
  }

  void FillNodes(DependencyGraph& graph) {
    Reserve(graph);
    Append(graph, begin_ns_, NodeKind::kSource, trace::kNoRow, DependencyGraph::kNoPlace);
    MergeInOrder(lists_, [&](std::size_t list, NodeId node) {
      new_id_[list][node] = graph.num_nodes();
      if (list == parts_.size()) {
        Append(graph, meetings_.time_ns[node], NodeKind::kMeeting, meetings_.instance[node],
               DependencyGraph::kNoPlace);
      } else {
        const RankPart& part = parts_[list];
        Append(graph, part.time_ns[node], part.kind[node], part.row[node],
               static_cast<std::uint32_t>(list));
      }
    });
    Append(graph, end_ns_, NodeKind::kSink, trace::kNoRow, DependencyGraph::kNoPlace);
    lists_.clear();
  }

  [[nodiscard]] NodeId Of(std::size_t place, NodeId node) const { return new_id_[place][node]; }

  [[nodiscard]] NodeId OfMeeting(std::size_t meeting) const { return new_id_.back()[meeting]; }

 private:
  void FindSpan() {
    begin_ns_ = std::numeric_limits<std::int64_t>::max();
    end_ns_ = std::numeric_limits<std::int64_t>::min();
    for (const RankPart& part : parts_) {
      for (const std::int64_t time_ns : part.time_ns) {
        begin_ns_ = std::min(begin_ns_, time_ns);
        end_ns_ = std::max(end_ns_, time_ns);
      }
    }
  }

  void Reserve(DependencyGraph& graph) const {
    std::size_t count = meetings_.size() + 2;
    for (const RankPart& part : parts_) {
      count += part.num_nodes();
    }
    graph.time_ns.reserve(count);
    graph.node_kind.reserve(count);
    graph.node_row.reserve(count);
    graph.node_place.reserve(count);
  }

  static void Append(DependencyGraph& graph, std::int64_t time_ns, NodeKind kind, trace::RowId row,
                     std::uint32_t place) {
    graph.time_ns.push_back(time_ns);
    graph.node_kind.push_back(kind);
    graph.node_row.push_back(row);
    graph.node_place.push_back(place);
  }

  const std::vector<RankPart>& parts_;
  const Meetings& meetings_;
  std::int64_t begin_ns_ = 0;
  std::int64_t end_ns_ = 0;
  std::vector<std::vector<OrderedNode>> lists_;  // of each part, and of the meetings
  std::vector<std::vector<NodeId>> new_id_;      // as lists_
};

// Groups edges by target in two passes: first all are counted, then all are placed.
class EdgeGrouping {
 public:
  explicit EdgeGrouping(DependencyGraph& graph) : graph_(graph) {
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
    next_ = graph_.first_edge;
  }

  void Place(const PartEdge& edge) {
    const EdgeId place = next_[edge.to]++;
    graph_.edge_from[place] = edge.from;
    graph_.weight_ns[place] = edge.weight_ns;
    graph_.edge_kind[place] = edge.kind;
    graph_.edge_class[place] = edge.time_class;
    graph_.edge_label[place] = edge.label;
  }

 private:
  DependencyGraph& graph_;
  std::vector<EdgeId> next_;
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
void ForEachMeetingEdge(const DependencyGraph& graph, const NodeNumbering& numbering,
                        const Meetings& meetings, Visit&& visit) {
  for (std::size_t meeting = 0; meeting < meetings.size(); ++meeting) {
    const NodeId node = numbering.OfMeeting(meeting);
    for (const MeetingMember& member : meetings.MembersOf(meeting)) {
      visit(PartEdge{.from = numbering.Of(member.place, member.start),
                     .to = node,
                     .kind = EdgeKind::kMeeting,
                     .label = meetings.instance[meeting]});
      if (member.end != kNoNode) {
        const NodeId end = numbering.Of(member.place, member.end);
        visit(PartEdge{.from = node,
                       .to = end,
                       .weight_ns = graph.time_ns[end] - graph.time_ns[node],
                       .kind = EdgeKind::kMeeting,
                       .time_class = TimeClass::kTransfer,
                       .label = meetings.instance[meeting]});
      }
    }
  }
}

}  // namespace

DependencyGraph Assemble(std::vector<RankPart>& parts, const Meetings& meetings, int threads) {
  DependencyGraph graph;
  NodeNumbering numbering(parts, meetings, threads);
  numbering.FillNodes(graph);
  EdgeGrouping grouping(graph);
  const auto count = [&](const PartEdge& edge) { grouping.Count(edge.to); };
  const auto place = [&](const PartEdge& edge) { grouping.Place(edge); };
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ForEachPartEdge(graph, numbering, parts[part], part, count);
  }
  ForEachMeetingEdge(graph, numbering, meetings, count);
  grouping.StartPlacing();
  for (std::size_t part = 0; part < parts.size(); ++part) {
    ForEachPartEdge(graph, numbering, parts[part], part, place);
    std::exchange(parts[part].edges, {});
    graph.counts += parts[part].counts;
  }
  ForEachMeetingEdge(graph, numbering, meetings, place);
  graph.counts += meetings.counts;
  OrderInstants(graph);
  return graph;
}

}  // namespace orrery::analyze
