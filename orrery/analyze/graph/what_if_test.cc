#include "orrery/analyze/graph/what_if.h"

#include <cstdint>
#include <string_view>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/example_runs_test.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {
namespace {

using example_runs::Example;

// Example F after a change, in ns.
struct ReplayOfF {
  std::int64_t ar_start_0 = 0;
  std::int64_t ar_start_1 = 0;
  std::int64_t arrive = 0;
  std::int64_t ar_end = 0;
  std::int64_t k2_start = 0;
  std::int64_t step = 0;

  bool operator==(const ReplayOfF&) const = default;
};

std::int64_t Time(const Example& example, const DependencyGraph& graph,
                  const std::vector<std::int64_t>& times_ns, std::uint32_t place,
                  std::string_view name, NodeKind kind) {
  const trace::Trace& trace = example.set.ranks[place];
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] == kind && graph.node_place[node] == place &&
        trace.Text(trace.activities.name[graph.node_row[node]]).starts_with(name)) {
      return times_ns[node];
    }
  }
  return -1;
}

ReplayOfF Read(const Example& example, const DependencyGraph& graph, const WhatIf& question) {
  const std::vector<std::int64_t> times_ns = question.Times();
  const auto time = [&](std::uint32_t place, std::string_view name, NodeKind kind) {
    return Time(example, graph, times_ns, place, name, kind);
  };
  ReplayOfF result{.ar_start_0 = time(0, "nccl", NodeKind::kActivityStart),
                   .ar_start_1 = time(1, "nccl", NodeKind::kActivityStart),
                   .ar_end = time(0, "nccl", NodeKind::kActivityEnd),
                   .k2_start = time(0, "K2", NodeKind::kActivityStart),
                   .step = question.PathNs()};
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] == NodeKind::kRendezvous) {
      result.arrive = times_ns[node];
    }
  }
  return result;
}

// The table of section 10.2, row by row.
TEST(WhatIfTest, ExampleF) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);
  const auto ask = [&] { return WhatIf(example.view, graph); };

  EXPECT_EQ(Read(example, graph, ask()),
            (ReplayOfF{60'000, 93'000, 93'000, 150'000, 152'000, 182'000}));
  EXPECT_EQ(Read(example, graph, ask().SpeedUpNetwork({.speedup = 2})),
            (ReplayOfF{60'000, 93'000, 93'000, 121'500, 123'500, 153'500}));
  EXPECT_EQ(Read(example, graph, ask().ScaleActivities({.only_compute = true}, 0.5)),
            (ReplayOfF{35'000, 93'000, 93'000, 150'000, 152'000, 167'000}));
}

TEST(WhatIfTest, ExampleG) {
  const Example example = example_runs::MakeG();
  const DependencyGraph graph = BuildGraph(example.view);

  EXPECT_EQ(WhatIf(example.view, graph).ScaleActivities({.kernel = "K1"}, 0.5).PathNs(), 81'000);
}

TEST(WhatIfTest, ExampleH) {
  const Example example = example_runs::MakeH();
  const DependencyGraph graph = BuildGraph(example.view);
  const std::vector<std::int64_t> times_ns =
      WhatIf(example.view, graph).ScaleActivities({.kernel = "K1"}, 0.25).Times();

  EXPECT_EQ(Time(example, graph, times_ns, 0, "K1", NodeKind::kActivityEnd), 20'000);
  EXPECT_EQ(Time(example, graph, times_ns, 0, "K3", NodeKind::kActivityStart), 31'000);
  EXPECT_EQ(times_ns.back(), 51'000);
}

// Segments 42, 43, 67: the median is 43, so rank 2 arrives at 143 and the step is 24 shorter.
TEST(WhatIfTest, ALateRankBecomesLikeTheOthers) {
  const Example example = example_runs::MakeC();
  const DependencyGraph graph = BuildGraph(example.view);
  WhatIf question(example.view, graph);
  question.RemoveLateness(2);

  EXPECT_EQ(graph.path_ns(), 177'000);
  EXPECT_EQ(question.PathNs(), 153'000);
}

TEST(WhatIfTest, RanksThatAreNotLateLoseNothing) {
  const Example example = example_runs::MakeC();
  const DependencyGraph graph = BuildGraph(example.view);
  WhatIf question(example.view, graph);
  question.RemoveLateness(0).RemoveLateness(1);

  EXPECT_EQ(question.PathNs(), 177'000);
}

// Arrivals 142, 143, 167: all meet at 143 and end 10 later; rank 2 counts as if it had come then.
TEST(WhatIfTest, WithoutStragglersTheMedianArrivalCounts) {
  const Example example = example_runs::MakeC();
  const DependencyGraph graph = BuildGraph(example.view);

  EXPECT_EQ(WhatIf(example.view, graph).RemoveStragglers().PathNs(), 153'000);
}

// The latency of 7 stays: 7 + 50/2 = 32 instead of 57.
TEST(WhatIfTest, LatencyIsNotBandwidth) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);

  EXPECT_EQ(
      WhatIf(example.view, graph).SpeedUpNetwork({.speedup = 2, .latency_ns = 7'000}).PathNs(),
      182'000 - 25'000);
}

TEST(WhatIfTest, OnlyTransfersInsideANodeCanBeSpedUp) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);
  const auto step = [&](std::int64_t ranks_per_node) {
    return WhatIf(example.view, graph)
        .SpeedUpNetwork({.speedup = 2, .ranks_per_node = ranks_per_node})
        .PathNs();
  };

  EXPECT_EQ(step(2), 153'500);
  EXPECT_EQ(step(1), 182'000);
}

// Rank 1's all-reduce is launched at 85: without latency it begins then, 8 earlier.
TEST(WhatIfTest, LaunchLatencyCanBeTakenAway) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);

  EXPECT_EQ(WhatIf(example.view, graph).SetLaunchLatency(0).PathNs(), 174'000);
}

// Nothing is computed during the transfer 93–150, so it ends at 93; then the launch of rank 1's K2
// at 90 decides: 90 + 8 + 2 unexplained + 30.
TEST(WhatIfTest, PerfectOverlapHidesExposedTransfers) {
  const Example example = example_runs::MakeF();
  const DependencyGraph graph = BuildGraph(example.view);

  EXPECT_EQ(WhatIf(example.view, graph).OverlapPerfectly().PathNs(), 130'000);
}

}  // namespace
}  // namespace orrery::analyze
