#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"

namespace orrery::analyze {
namespace {

using testing::ElementsAre;

// Nodes 1, 2, 3 at instant 10 between a source at 0 and a sink at 10; each has one edge, from the
// given node. Rows tell the nodes apart.
DependencyGraph ThreeAtOneInstant(const std::vector<NodeId>& from) {
  DependencyGraph graph;
  graph.time_ns = {0, 10, 10, 10, 10};
  graph.node_kind.assign(5, NodeKind::kOperatorStart);
  graph.node_row = {0, 1, 2, 3, 4};
  graph.node_place.assign(5, 0);
  graph.first_edge = {0, 0, 1, 2, 3, 4};
  graph.edge_from = from;
  for (const NodeId node : from) {
    graph.weight_ns.push_back(10 - graph.time_ns[node]);
  }
  graph.edge_kind.assign(from.size(), EdgeKind::kThread);
  graph.edge_class.assign(from.size(), TimeClass::kHost);
  graph.edge_label.assign(from.size(), kNoLabel);
  return graph;
}

// 3 → 2 → 1 becomes the order 3, 2, 1.
TEST(InstantOrderTest, EdgesDecideInsideAnInstant) {
  DependencyGraph graph = ThreeAtOneInstant({2, 3, 0, 1});
  OrderInstants(graph);
  EXPECT_THAT(graph.node_row, ElementsAre(0, 3, 2, 1, 4));
  EXPECT_THAT(graph.edge_from, ElementsAre(0, 1, 2, 3));
  EXPECT_EQ(graph.counts.contradictions(), 0);
}

// 1 → 2 → 3 → 1: one edge gives way to one from the source.
TEST(InstantOrderTest, ACircleIsBrokenAndCounted) {
  DependencyGraph graph = ThreeAtOneInstant({3, 1, 2, 3});
  OrderInstants(graph);
  EXPECT_EQ(graph.counts.dropped_edges, 1);
  for (NodeId node = 1; node < graph.num_nodes(); ++node) {
    for (const EdgeId edge : graph.EdgesTo(node)) {
      EXPECT_LT(graph.edge_from[edge], node);
    }
    EXPECT_EQ(graph.ResidualNs(node), 0);
  }
}

}  // namespace
}  // namespace orrery::analyze
