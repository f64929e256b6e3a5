#include "orrery/analyze/graph/critical_path.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/example_runs_test.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using example_runs::Example;
using testing::ElementsAre;

CriticalPath PathOf(const DependencyGraph& graph) {
  return FindCriticalPath(graph, RecordedTiming(graph));
}

// The parts of the path that take time, in order, as "class:µs".
std::vector<std::string> PartsOf(const DependencyGraph& graph, const CriticalPath& path) {
  std::vector<std::string> parts;
  const auto add = [&](TimeClass time_class, std::int64_t duration_ns) {
    if (duration_ns != 0) {
      parts.push_back(std::string(TimeClassName(time_class)) + ":" +
                      std::to_string(duration_ns / 1000));
    }
  };
  for (const Hop& hop : path.hops) {
    add(graph.edge_class[hop.edge], hop.weight_ns);
    add(graph.ResidualClass(hop.to, hop.residual_ns), hop.residual_ns);
  }
  return parts;
}

// The time of the start or end of the activity `name` of a rank, in µs.
std::int64_t TimeOf(const Example& example, const DependencyGraph& graph, std::uint32_t place,
                    std::string_view name, NodeKind kind) {
  const trace::Trace& trace = example.set.ranks[place];
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] == kind && graph.node_place[node] == place &&
        trace.Text(trace.activities.name[graph.node_row[node]]).starts_with(name)) {
      return graph.ResidualNs(node) / 1000;
    }
  }
  return -1;
}

// Section 8.2.
TEST(CriticalPathTest, TwoRanksMeetInAnAllReduce) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);
  const CriticalPath path = PathOf(graph);
  EXPECT_THAT(PartsOf(graph, path), ElementsAre("host:5", "host:80", "launch:8", "transfer:57",
                                                "launch_overhead:2", "compute:30"));
  EXPECT_EQ(path.length_ns(), 182'000);
  EXPECT_EQ(path.ClassNs(TimeClass::kHost), 85'000);
  EXPECT_EQ(path.unexplained_ns(), 2'000);
  EXPECT_EQ(path.num_rank_changes, 1);
  // Rank 0: K2 30 and its delay 2. Rank 1: host 85 and launch 8. Apart: transfer 57.
  EXPECT_THAT(path.ns_by_place, ElementsAre(32'000, 93'000));
  EXPECT_EQ(graph.counts.contradictions(), 0);
}

TEST(CriticalPathTest, ResidualsAreWhatNoEdgeExplains) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);
  const auto residual = [&](std::uint32_t place, std::string_view name) {
    return TimeOf(example, graph, place, name, NodeKind::kActivityStart);
  };
  EXPECT_EQ(residual(0, "nccl"), 2);
  EXPECT_EQ(residual(1, "nccl"), 0);
  EXPECT_EQ(residual(0, "K2"), 2);
  EXPECT_EQ(residual(1, "K2"), 2);
}

TEST(CriticalPathTest, HopsNameWhatTheyWaitedFor) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);
  std::vector<std::string> names;
  for (const Hop& hop : PathOf(graph).hops) {
    if (hop.length_ns() > 0) {
      names.emplace_back(HopName(example.view, graph, hop));
    }
  }
  EXPECT_THAT(names, ElementsAre("cudaLaunchKernel", "data", "ncclDevKernel_Generic(ncclDevComm*)",
                                 "ncclDevKernel_Generic(ncclDevComm*)", "K2", "K2"));
}

// Section 8.3.
TEST(CriticalPathTest, ABlockingCallCountsOnlyAfterTheKernel) {
  const Example example = example_runs::MakeG();
  const DependencyGraph graph = BuildGraph(example.view);
  const CriticalPath path = PathOf(graph);
  EXPECT_THAT(PartsOf(graph, path),
              ElementsAre("launch:6", "compute:30", "sync:4", "host:20", "launch:6", "compute:30"));
  EXPECT_EQ(path.length_ns(), 96'000);
  EXPECT_EQ(graph.counts.inferred_syncs, 1);
}

// Section 8.4.
TEST(CriticalPathTest, AStreamWaitsForAnEventOfAnother) {
  const Example example = example_runs::MakeH();
  const DependencyGraph graph = BuildGraph(example.view);
  const CriticalPath path = PathOf(graph);
  EXPECT_THAT(PartsOf(graph, path),
              ElementsAre("host:2", "launch:8", "compute:40", "launch_overhead:1", "compute:20"));
  EXPECT_EQ(path.length_ns(), 71'000);
}

// Rank 0 of example F: K1 ends at 58, the all-reduce could begin 33 later than it did (at 93), and
// its 2 unexplained follow K1: K1 has 33 to spare. `data` and K2 have nothing.
TEST(CriticalPathTest, SlackIsTimeToSpare) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);
  const std::vector<std::int64_t> slack_ns = FindSlack(graph);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] != NodeKind::kActivityEnd) {
      continue;
    }
    const trace::Trace& trace = example.set.ranks[graph.node_place[node]];
    const std::string_view name = trace.Text(trace.activities.name[graph.node_row[node]]);
    const bool is_early = graph.node_place[node] == 0 && name == "K1";
    const bool is_k1_of_late = graph.node_place[node] == 1 && name == "K1";
    // K1 of rank 1 ends at 48, its all-reduce begins at 93.
    EXPECT_EQ(slack_ns[node], is_early ? 33'000 : is_k1_of_late ? 45'000 : 0) << name;
  }
}

TEST(CriticalPathTest, NothingRecordedGivesNoPath) {
  trace::TraceSet set;
  set.ranks.push_back(test_run::Rank(0).Finish());
  const Example example(std::move(set));
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_TRUE(graph.empty());
  EXPECT_EQ(PathOf(graph).length_ns(), 0);
}

}  // namespace
}  // namespace orrery::analyze
