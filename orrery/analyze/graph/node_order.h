#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <queue>
#include <tuple>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/meetings.h"
#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// The place of a node in time: at equal times ends come before starts, meetings last.
struct OrderedNode {
  std::int64_t key = 0;
  NodeId node = 0;

  auto operator<=>(const OrderedNode&) const = default;
};

/// Returns the nodes of a part, or all meetings, in order of time; ties as they were numbered.
[[nodiscard]] std::vector<OrderedNode> OrderNodes(const RankPart& part, std::int64_t origin_ns);
[[nodiscard]] std::vector<OrderedNode> OrderNodes(const Meetings& meetings, std::int64_t origin_ns);

/// Calls `visit(list, node)` for the nodes of all lists in order; of equal ones that of the earlier
/// list goes first. Costs O(n log lists).
template <typename Visit>
void MergeInOrder(const std::vector<std::vector<OrderedNode>>& lists, Visit&& visit) {
  using Head = std::tuple<std::int64_t, std::size_t, std::size_t>;  // key, list, place in it
  std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
  for (std::size_t list = 0; list < lists.size(); ++list) {
    if (!lists[list].empty()) {
      heads.emplace(lists[list].front().key, list, 0);
    }
  }
  while (!heads.empty()) {
    auto [key, list, place] = heads.top();
    heads.pop();
    // Runs of one list between two nodes of others need no queue.
    const std::vector<OrderedNode>& nodes = lists[list];
    do {
      visit(list, nodes[place].node);
      ++place;
    } while (place < nodes.size() &&
             (heads.empty() || Head(nodes[place].key, list, place) < heads.top()));
    if (place < nodes.size()) {
      heads.emplace(nodes[place].key, list, place);
    }
  }
}

/// Makes the order topological where nodes share an instant: edges of weight 0 between them decide.
/// Where such edges run in a circle one of them is replaced by an edge from the source, and counted
/// as a contradiction. Costs O(nodes + edges).
void OrderInstants(DependencyGraph& graph);

}  // namespace orrery::analyze
