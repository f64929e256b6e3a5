#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/example_runs_test.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

// Properties 7 to 10 of critical-path-and-waits.md, section 11, on runs that a small simulator
// made.

namespace orrery::analyze {
namespace {

using example_runs::Example;
using test_run::Rank;

constexpr std::int64_t kLatency = 3;

std::int64_t Draw(std::int64_t least, std::int64_t most) {
  return *rc::gen::inRange<std::int64_t>(least, most + 1);
}

// Generates the trace of one rank: the host runs ahead, streams work in order. Some delays have no
// reason.
class Player {
 public:
  Player(std::int32_t number, std::int32_t world) : rank_(number) {
    std::string ranks = "[0";
    for (std::int32_t other = 1; other < world; ++other) {
      ranks += ", " + std::to_string(other);
    }
    group_ = rank_.Group("0", ranks + "]", world);
    // A launch on an idle stream without delay shows the latency.
    free_[7] = kLatency + 1;
    rank_.Kernel("first", {kLatency, free_[7]}, 7, Launch());
  }

  void Operator() {
    const std::int64_t begin = host_;
    host_ += Draw(0, 9);
    if (Draw(0, 1) == 1) {
      Kernel();
    }
    host_ += Draw(0, 3);
    rank_.Operator("op" + std::to_string(Draw(0, 2)), {begin, host_});
    host_ += Draw(0, 4);
  }

  void Kernel() {
    const std::int64_t stream = Draw(7, 8);
    const std::int64_t begin = NextStart(stream);
    const std::int64_t correlation = Launch();
    free_[stream] = begin + Draw(0, 30);
    rank_.Kernel("k" + std::to_string(Draw(0, 2)), {begin, free_[stream]}, stream, correlation);
  }

  void StreamWait(std::int64_t waiting, std::int64_t recorded) {
    const std::int64_t record = rank_.Call({host_, host_ + 1}, "cudaEventRecord");
    const std::int64_t wait = rank_.Call({host_ + 1, host_ + 2}, "cudaStreamWaitEvent");
    rank_.StreamWaitsForEvent(wait, waiting, record, recorded, host_ + 1);
    free_[waiting] = std::max(free_[waiting], free_[recorded]);
    host_ += 2;
  }

  void Synchronise() {
    std::int64_t done = host_;
    for (const auto& [stream, free] : free_) {
      done = std::max(done, free);
    }
    rank_.Call({host_, done + 2}, "cudaDeviceSynchronize");
    host_ = done + 2;
  }

  std::int64_t ArriveAtCollective() {
    arrival_ = NextStart(20);
    correlation_ = Launch();
    return arrival_;
  }

  void LeaveCollective(std::int64_t end, std::int64_t sequence) {
    rank_.Collective({.span = {arrival_, end},
                      .group = group_,
                      .bytes = 4096,
                      .sequence = sequence,
                      .correlation = correlation_});
    free_[20] = end;
  }

  trace::Trace Finish() { return rank_.Finish(); }

 private:
  std::int64_t NextStart(std::int64_t stream) {
    const std::int64_t unexplained = Draw(0, 3) == 0 ? Draw(0, 40) : 0;
    return std::max(host_ + kLatency, free_[stream]) + unexplained;
  }

  std::int64_t Launch() {
    const std::int64_t correlation = rank_.Call({host_, host_ + 2});
    host_ += 2;
    return correlation;
  }

  Rank rank_;
  RowId group_ = kNoRow;
  std::int64_t host_ = 0;
  std::map<std::int64_t, std::int64_t> free_;  // when a stream has done its work
  std::int64_t arrival_ = 0;
  std::int64_t correlation_ = -1;
};

void PlaySegment(Player& player) {
  const std::int64_t num_actions = Draw(0, 6);
  for (std::int64_t action = 0; action < num_actions; ++action) {
    switch (Draw(0, 5)) {
      case 0:
        player.StreamWait(8, 7);
        break;
      case 1:
        player.Synchronise();
        break;
      case 2:
        player.Kernel();
        break;
      default:
        player.Operator();
    }
  }
}

Example GeneratedRun() {
  const auto world = static_cast<std::int32_t>(Draw(1, 4));
  std::vector<Player> players;
  for (std::int32_t rank = 0; rank < world; ++rank) {
    players.emplace_back(rank, world);
  }
  const std::int64_t num_rendezvous = Draw(0, 4);
  for (std::int64_t rendezvous = 0; rendezvous <= num_rendezvous; ++rendezvous) {
    std::int64_t last = 0;
    for (Player& player : players) {
      PlaySegment(player);
      player.StreamWait(20, 7);
      last = std::max(last, player.ArriveAtCollective());
    }
    const std::int64_t transfer = Draw(1, 20);
    for (Player& player : players) {
      player.LeaveCollective(last + transfer + Draw(0, 1), rendezvous + 1);
      player.StreamWait(7, 20);
    }
  }
  trace::TraceSet set;
  for (Player& player : players) {
    set.ranks.push_back(player.Finish());
  }
  return Example(std::move(set));
}

RC_GTEST_PROP(GraphPropertyTest, EdgesGoForwardAndExplainNoMoreThanThereIs, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  RC_ASSERT(!graph.empty());
  for (NodeId node = 1; node < graph.num_nodes(); ++node) {
    RC_ASSERT(graph.first_edge[node] < graph.first_edge[node + 1]);
    RC_ASSERT(graph.ResidualNs(node) >= 0);
    for (const EdgeId edge : graph.EdgesTo(node)) {
      RC_ASSERT(graph.edge_from[edge] < node);
      RC_ASSERT(graph.weight_ns[edge] >= 0);
    }
  }
}

// Property 7. A hop into a rendezvous comes from its last member, so no hop is a wait.
RC_GTEST_PROP(GraphPropertyTest, HopsAreContiguousAndSumToTheStep, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  const CriticalPath path = FindCriticalPath(graph, RecordedTiming(graph));
  std::int64_t sum_ns = 0;
  NodeId at = 0;
  for (const Hop& hop : path.hops) {
    RC_ASSERT(hop.from == at);
    RC_ASSERT(graph.edge_from[hop.edge] == hop.from);
    RC_ASSERT(graph.first_edge[hop.to] <= hop.edge);
    RC_ASSERT(hop.edge < graph.first_edge[hop.to + 1]);
    RC_ASSERT(graph.node_kind[hop.to] != NodeKind::kRendezvous || hop.length_ns() == 0);
    sum_ns += hop.length_ns();
    at = hop.to;
  }
  RC_ASSERT(at == graph.sink());
  RC_ASSERT(sum_ns == graph.path_ns());
  RC_ASSERT(path.length_ns() == graph.path_ns());
}

// Property 8.
RC_GTEST_PROP(GraphPropertyTest, UnchangedWeightsReproduceEveryTime, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  WhatIf question(example.view, graph);
  question.SpeedUpNetwork({}).ScaleActivities({}, 1).ScaleHost(1);
  RC_ASSERT(question.Times() == graph.time_ns);
}

// Property 9.
RC_GTEST_PROP(GraphPropertyTest, SmallerWeightsNeverGiveALongerStep, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  std::vector<std::int64_t> weight_ns = graph.weight_ns;
  for (std::int64_t& weight : weight_ns) {
    weight = Draw(0, 3) == 0 ? Draw(0, weight) : weight;
  }
  RC_ASSERT(Replay(graph, weight_ns).back() <= graph.time_ns.back());
}

RC_GTEST_PROP(GraphPropertyTest, TheStepIsAtLeastTheWorkOfEveryLane, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  const std::int64_t step_ns = graph.path_ns();
  std::map<std::pair<std::uint32_t, RowId>, std::int64_t> work_ns;
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] != NodeKind::kActivityEnd) {
      continue;
    }
    const std::uint32_t place = graph.node_place[node];
    const RowId row = graph.node_row[node];
    for (const EdgeId edge : graph.EdgesTo(node)) {
      work_ns[{place, example.set.ranks[place].activities.track[row]}] += graph.weight_ns[edge];
    }
  }
  for (const auto& [lane, lane_work_ns] : work_ns) {
    RC_ASSERT(lane_work_ns <= step_ns);
  }
}

// Property 10.
RC_GTEST_PROP(GraphPropertyTest, SpeedingUpWhatIsNotOnThePathGainsNothing, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  std::vector<bool> is_on_path(graph.num_edges(), false);
  for (const Hop& hop : FindCriticalPath(graph, RecordedTiming(graph)).hops) {
    is_on_path[hop.edge] = true;
  }
  std::vector<std::int64_t> weight_ns = graph.weight_ns;
  for (EdgeId edge = 0; edge < graph.num_edges(); ++edge) {
    weight_ns[edge] = is_on_path[edge] ? weight_ns[edge] : 0;
  }
  RC_ASSERT(Replay(graph, weight_ns).back() == graph.time_ns.back());
}

RC_GTEST_PROP(GraphPropertyTest, SlackCanBeUsedUpAndNoMore, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  const std::vector<std::int64_t> slack_ns = FindSlack(graph);
  const auto node = static_cast<NodeId>(Draw(1, graph.sink()));
  const EdgeId edge = BindingEdge(graph, RecordedTiming(graph), node);
  std::vector<std::int64_t> weight_ns = graph.weight_ns;
  weight_ns[edge] += slack_ns[node];
  RC_ASSERT(Replay(graph, weight_ns).back() == graph.time_ns.back());
  weight_ns[edge] += 1;
  RC_ASSERT(Replay(graph, weight_ns).back() == graph.time_ns.back() + 1);
}

RC_GTEST_PROP(GraphPropertyTest, NothingContradictsAGeneratedRun, ()) {
  const Example example = GeneratedRun();
  const DependencyGraph graph = BuildGraph(example.view);
  RC_ASSERT(graph.counts.contradictions() == 0);
}

}  // namespace
}  // namespace orrery::analyze
