#include "orrery/analyze/graph/rank_part.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <numeric>
#include <queue>
#include <ranges>
#include <span>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

// The place of a node in time.
struct OrderedNode {
  std::int64_t key = 0;
  NodeId node = 0;

  auto operator<=>(const OrderedNode&) const = default;
};

using OrderedNodes = std::span<OrderedNode>;

enum class Phase : std::int64_t { kEnd, kStart, kRendezvous };

std::int64_t KeyOf(std::int64_t since_ns, Phase phase) {
  return since_ns * 4 + static_cast<std::int64_t>(phase);
}

bool IsEnd(NodeKind kind) {
  return kind == NodeKind::kOperatorEnd || kind == NodeKind::kCallEnd ||
         kind == NodeKind::kActivityEnd;
}

// Lanes come one after the other, each mostly in order: sort where one is not, then merge.
void SortLanes(OrderedNodes nodes, std::vector<std::size_t> lane_ends) {
  std::size_t begin = 0;
  for (const std::size_t end : lane_ends) {
    const auto lane = std::ranges::subrange(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                                            nodes.begin() + static_cast<std::ptrdiff_t>(end));
    if (!std::ranges::is_sorted(lane)) {
      std::ranges::sort(lane);
    }
    begin = end;
  }
  while (lane_ends.size() > 1) {
    std::vector<std::size_t> merged;
    begin = 0;
    for (std::size_t lane = 0; lane < lane_ends.size(); lane += 2) {
      const std::size_t end = lane_ends[std::min(lane + 1, lane_ends.size() - 1)];
      std::inplace_merge(nodes.begin() + static_cast<std::ptrdiff_t>(begin),
                         nodes.begin() + static_cast<std::ptrdiff_t>(lane_ends[lane]),
                         nodes.begin() + static_cast<std::ptrdiff_t>(end));
      merged.push_back(end);
      begin = end;
    }
    lane_ends = std::move(merged);
  }
}

void OrderNodes(const RankPart& part, std::int64_t origin_ns, OrderedNodes nodes) {
  for (NodeId node = 0; node < part.num_nodes(); ++node) {
    const Phase phase = IsEnd(part.kind[node]) ? Phase::kEnd : Phase::kStart;
    nodes[node] = {KeyOf(part.time_ns[node] - origin_ns, phase), node};
  }
  std::vector<std::size_t> lane_ends;
  for (const std::vector<Lane>* lanes : {&part.threads, &part.streams}) {
    for (const Lane& lane : *lanes) {
      lane_ends.push_back(lane.end);
    }
  }
  SortLanes(nodes, std::move(lane_ends));
}

void OrderNodes(const Rendezvous& rendezvous, std::int64_t origin_ns, OrderedNodes nodes) {
  for (NodeId index = 0; index < rendezvous.size(); ++index) {
    nodes[index] = {KeyOf(rendezvous.time_ns[index] - origin_ns, Phase::kRendezvous), index};
  }
  std::ranges::sort(nodes);
}

// Merges lists, of equal keys the earlier list first: a heap of their heads, the smallest on top.
class ListMerger {
 public:
  explicit ListMerger(const std::vector<OrderedNodes>& lists)
      : lists_(lists), place_(lists.size(), 0) {
    for (std::size_t list = 0; list < lists.size(); ++list) {
      Push(list);
    }
  }

  [[nodiscard]] bool empty() const { return heads_.empty(); }

  /// Returns list and node, and goes on.
  std::pair<std::size_t, NodeId> Next() {
    const std::size_t list = heads_.top().second;
    const NodeId node = lists_[list][place_[list]++].node;
    heads_.pop();
    Push(list);
    return {list, node};
  }

 private:
  using Head = std::pair<std::int64_t, std::size_t>;  // the key of a list's next node, and the list

  void Push(std::size_t list) {
    if (place_[list] < lists_[list].size()) {
      heads_.emplace(lists_[list][place_[list]].key, list);
    }
  }

  const std::vector<OrderedNodes>& lists_;
  std::vector<std::size_t> place_;  // in each list
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads_;
};

struct NodeSpan {
  std::int64_t begin_ns = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns = std::numeric_limits<std::int64_t>::min();
};

void Reserve(DependencyGraph& graph, std::size_t num_nodes) {
  graph.time_ns.reserve(num_nodes);
  graph.node_kind.reserve(num_nodes);
  graph.node_row.reserve(num_nodes);
  graph.node_place.reserve(num_nodes);
}

void Append(DependencyGraph& graph, std::int64_t time_ns, NodeKind kind, RowId row,
            std::uint32_t place) {
  graph.time_ns.push_back(time_ns);
  graph.node_kind.push_back(kind);
  graph.node_row.push_back(row);
  graph.node_place.push_back(place);
}

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

}  // namespace

NodeId RankPart::AddNode(std::int64_t at_ns, NodeKind node_kind, RowId node_row) {
  time_ns.push_back(at_ns);
  kind.push_back(node_kind);
  row.push_back(node_row);
  return num_nodes() - 1;
}

void RankPart::AddEdge(const PartEdge& edge) {
  const std::int64_t between_ns = time_ns[edge.to] - time_ns[edge.from];
  ++counts.checked_edges;
  if (between_ns < 0) {
    ++counts.dropped_edges;
    return;
  }
  edges.push_back(edge);
  if (edge.weight_ns > between_ns) {
    ++counts.shortened_edges;
    edges.back().weight_ns = between_ns;
  }
}

const Lane* RankPart::FindStream(std::int32_t device, std::int64_t stream) const {
  const trace::Tracks& tracks = trace->tracks;
  for (const Lane& lane : streams) {
    const bool is_it = lane.track != kNoRow && tracks.thread[lane.track] == stream &&
                       (device < 0 || tracks.device[lane.track] == device);
    if (is_it) {
      return &lane;
    }
  }
  return nullptr;
}

RowRange RowsWithin(const std::vector<std::int64_t>& begin_ns, Interval window) {
  const auto first = std::ranges::lower_bound(begin_ns, window.begin_ns);
  const auto end = std::upper_bound(first, begin_ns.end(), window.end_ns);
  return {.first = static_cast<RowId>(first - begin_ns.begin()),
          .end = static_cast<RowId>(end - begin_ns.begin())};
}

NodeNumbering::NodeNumbering(const std::vector<RankPart>& parts, const Rendezvous& rendezvous,
                             int threads, DependencyGraph& graph)
    : new_id_(parts.size() + 1) {
  NodeSpan span;
  for (const RankPart& part : parts) {
    for (const std::int64_t time_ns : part.time_ns) {
      span.begin_ns = std::min(span.begin_ns, time_ns);
      span.end_ns = std::max(span.end_ns, time_ns);
    }
  }
  std::vector<OrderedNode> all;
  // Cuts one array, which is given back to the system as a whole, into a list for each part and one
  // for the rendezvous.
  std::vector<std::size_t> sizes;
  for (const RankPart& part : parts) {
    sizes.push_back(part.num_nodes());
  }
  sizes.push_back(rendezvous.size());
  all.resize(std::accumulate(sizes.begin(), sizes.end(), std::size_t{0}));
  std::vector<OrderedNodes> lists;
  std::size_t first = 0;
  for (const std::size_t size : sizes) {
    lists.push_back(OrderedNodes(all).subspan(first, size));
    first += size;
  }
  ParallelFor(lists.size(), threads, [&](std::size_t list) {
    if (list == parts.size()) {
      OrderNodes(rendezvous, span.begin_ns, lists[list]);
    } else {
      OrderNodes(parts[list], span.begin_ns, lists[list]);
    }
    new_id_[list].resize(lists[list].size());
  });
  Reserve(graph, all.size() + 2);
  Append(graph, span.begin_ns, NodeKind::kSource, kNoRow, DependencyGraph::kNoPlace);
  ListMerger merger(lists);
  while (!merger.empty()) {
    const auto [list, node] = merger.Next();
    new_id_[list][node] = graph.num_nodes();
    if (list == parts.size()) {
      Append(graph, rendezvous.time_ns[node], NodeKind::kRendezvous, rendezvous.instance[node],
             DependencyGraph::kNoPlace);
    } else {
      const RankPart& part = parts[list];
      Append(graph, part.time_ns[node], part.kind[node], part.row[node],
             static_cast<std::uint32_t>(list));
    }
  }
  Append(graph, span.end_ns, NodeKind::kSink, kNoRow, DependencyGraph::kNoPlace);
}

void GroupEdges(const NodeNumbering& numbering, const Rendezvous& rendezvous,
                std::vector<RankPart>& parts, DependencyGraph& graph) {
  EdgeGrouping grouping(graph);
  const auto count = [&](const PartEdge& edge) { grouping.Count(edge.to); };
  const auto place = [&](const PartEdge& edge) { grouping.Place(edge); };
  for (std::size_t part = 0; part < parts.size(); ++part) {
    // The nodes of a parts[part] are in the graph by now; only its edges are still needed.
    std::exchange(parts[part].time_ns, {});
    std::exchange(parts[part].kind, {});
    std::exchange(parts[part].row, {});
    std::exchange(parts[part].open, {});
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
