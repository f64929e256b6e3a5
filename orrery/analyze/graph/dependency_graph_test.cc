#include "orrery/analyze/graph/dependency_graph.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include "orrery/analyze/graph/example_runs_test.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/graph/what_if.h"
#include "orrery/analyze/run_view.h"
#include "orrery/analyze/sample_run_test.h"
#include "orrery/base/collective_kind.h"
#include "orrery/base/columns.h"
#include "orrery/trace/enums.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

using example_runs::Example;
using test_run::Rank;

Example OneRank(Rank& rank) {
  trace::TraceSet set;
  set.ranks.push_back(rank.Finish());
  return Example(std::move(set));
}

std::int64_t CountEdges(const DependencyGraph& graph, EdgeKind kind) {
  return std::ranges::count(graph.edge_kind, kind);
}

// The residual in front of the activity `name`, in µs.
std::int64_t ResidualOf(const Example& example, const DependencyGraph& graph,
                        std::string_view name) {
  const trace::Trace& trace = example.set.ranks[0];
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] == NodeKind::kActivityStart &&
        trace.Text(trace.activities.name[graph.node_row[node]]) == name) {
      return graph.ResidualNs(node) / 1000;
    }
  }
  return -1;
}

TEST(DependencyGraphTest, NamesOfCallsSayWhetherTheyBlock) {
  EXPECT_EQ(ClassifyBlockingCall("cudaDeviceSynchronize"), Blocking::kAllStreams);
  EXPECT_EQ(ClassifyBlockingCall("hipFree"), Blocking::kAllStreams);
  EXPECT_EQ(ClassifyBlockingCall("cudaFreeAsync"), Blocking::kNever);
  EXPECT_EQ(ClassifyBlockingCall("hipStreamSynchronize"), Blocking::kOneStream);
  EXPECT_EQ(ClassifyBlockingCall("cudaEventSynchronize"), Blocking::kOneStream);
  EXPECT_EQ(ClassifyBlockingCall("cudaEventQuery"), Blocking::kNever);
  EXPECT_EQ(ClassifyBlockingCall("cudaMemcpy"), Blocking::kOwnCopy);
  EXPECT_EQ(ClassifyBlockingCall("cudaLaunchKernel"), Blocking::kNever);
}

// Three steps; the host is ahead: while the device works on step 1 (kernel 130–190), the host is in
// step 2 from 120 on. The graph of step 1 ends with its kernel and has no host row of step 2.
TEST(DependencyGraphTest, WhatTheHostDoesAheadBelongsToTheNextStep) {
  Rank rank(0);
  std::int64_t device = 10;
  for (int step = 0; step < 3; ++step) {
    const std::int64_t at = std::int64_t{60} * step;
    rank.Step(step, {at, at + 60});
    rank.Operator("work", {at + 1, at + 59});
    rank.Kernel("k", {device, device + 60}, 7, rank.Call({at + 2, at + 4}));
    device += 60;
  }
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(graph.step_number, 1);
  // From the operator at 61 to the end of the kernel 70–130.
  EXPECT_EQ(graph.time_ns.front(), 61'000);
  EXPECT_EQ(graph.time_ns.back(), 130'000);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (!IsDeviceNode(graph.node_kind[node]) && graph.node_kind[node] != NodeKind::kSink) {
      EXPECT_LE(graph.time_ns[node], 120'000);
    }
  }
}

// Events of no duration at one instant: each follows the one before, on the host and on the device.
TEST(DependencyGraphTest, NothingThatTakesNoTimeIsOutOfOrder) {
  Rank rank(0);
  rank.Operator("a", {5, 5}).Operator("b", {5, 5});
  const std::int64_t first = rank.Call({5, 5});
  const std::int64_t second = rank.Call({5, 5});
  rank.Kernel("k1", {5, 5}, 7, first).Kernel("k2", {5, 5}, 7, second);
  rank.Kernel("k3", {5, 8}, 7, rank.Call({5, 6}));
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    for (const EdgeId edge : graph.EdgesTo(node)) {
      EXPECT_LT(graph.edge_from[edge], node);
    }
  }
  EXPECT_EQ(CountEdges(graph, EdgeKind::kStreamOrder), 2);
  EXPECT_EQ(graph.counts.contradictions(), 0);
  EXPECT_EQ(WhatIf(example.view, graph).Times(), graph.time_ns);
}

// A watchdog asks for events until 500; the step is over at 40.
TEST(DependencyGraphTest, ThreadsThatOnlyLookOnAreLeftOut) {
  Rank rank(0);
  rank.Kernel("k", {10, 40}, 7, rank.Call({0, 5}));
  rank.Call({1, 2}, "cudaEventQuery", 2);
  rank.Call({499, 500}, "cudaEventQuery", 2);
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(graph.counts.idle_threads, 1);
  EXPECT_EQ(graph.path_ns(), 40'000);
}

// The kernel on stream 7 was launched at 8, after a wait call, and begins 2 after the end of the
// copy on stream 20: it must have waited for that, though no record says so.
TEST(DependencyGraphTest, WaitsOfStreamsAreInferredWithoutRecords) {
  Rank rank(0);
  rank.Kernel("first", {5, 6}, 7, rank.Call({0, 1}));
  rank.Copy("copy", {7, 100}, -1, 20, rank.Call({2, 3}, "cudaMemcpyAsync"));
  rank.Call({4, 5}, "cudaStreamWaitEvent");
  rank.Kernel("k", {102, 110}, 7, rank.Call({8, 9}));
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(graph.counts.inferred_events, 1);
  EXPECT_EQ(ResidualOf(example, graph, "k"), 2);
}

TEST(DependencyGraphTest, WithoutAWaitCallNothingIsInferred) {
  Rank rank(0);
  rank.Kernel("first", {5, 6}, 7, rank.Call({0, 1}));
  rank.Copy("copy", {7, 100}, -1, 20, rank.Call({2, 3}, "cudaMemcpyAsync"));
  rank.Kernel("k", {102, 110}, 7, rank.Call({8, 9}));
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(graph.counts.inferred_events, 0);
  // Its launch at 8 and the latency of 5 explain no more than 13.
  EXPECT_EQ(ResidualOf(example, graph, "k"), 89);
}

// 1,100 launches of 1 µs each into a queue of 1,000 places, kernels of 100: the last launch is made
// at 10,006, 1 after the end of kernel 99 at 5 + 100 · 100; then the host works for 100,000. With
// kernels twice as fast, kernel 99 ends at 5,005 and the host is done at 5,006 + 100,000. If the
// time inside the blocked launches were the host's own, nothing would be gained.
TEST(DependencyGraphTest, ALaunchIntoAFullQueueWaitsForTheDevice) {
  Rank rank(0);
  constexpr std::int64_t kPlaces = 1000;
  std::int64_t host = 0;
  std::vector<std::int64_t> ends;
  for (std::int64_t kernel = 0; kernel < 1100; ++kernel) {
    const std::int64_t begin = host;
    host += 1;
    if (kernel >= kPlaces) {
      host = std::max(host, ends[static_cast<std::size_t>(kernel - kPlaces)] + 1);
    }
    const std::int64_t start = kernel == 0 ? 5 : ends.back();
    ends.push_back(start + 100);
    rank.Kernel("k", {start, ends.back()}, 7, rank.Call({begin, host}));
  }
  rank.Operator("after", {host, host + 100'000});
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(graph.path_ns(), 110'006'000);
  EXPECT_EQ(WhatIf(example.view, graph).Times(), graph.time_ns);
  EXPECT_EQ(WhatIf(example.view, graph).ScaleActivities({.kernel = "k"}, 0.5).PathNs(),
            105'006'000);
}

// The device clock is 5 ahead: the copy 102–104 seems to end after the call that waited for it. The
// kernel before it, which ended at 95, stands for it; the 4 after that stay unexplained.
TEST(DependencyGraphTest, ACallThatSeemsToReturnTooEarlyStillWaited) {
  Rank rank(0);
  rank.Kernel("k", {5, 95}, 7, rank.Call({0, 1}));
  rank.Copy("copy", {102, 104}, -1, 7, rank.Call({1, 2}, "cudaMemcpyAsync"));
  const std::int64_t call = rank.Call({3, 99}, "cudaStreamSynchronize");
  rank.trace().syncs.Append({.begin_ns = 3000,
                             .kind = trace::SyncKind::kStream,
                             .device = 0,
                             .stream = 7,
                             .correlation = call});
  const Example example = OneRank(rank);
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(CountEdges(graph, EdgeKind::kSync), 1);
  EXPECT_EQ(graph.counts.contradictions(), 1);
  EXPECT_EQ(graph.counts.inferred_syncs, 0);
  for (NodeId node = 0; node < graph.num_nodes(); ++node) {
    if (graph.node_kind[node] == NodeKind::kCallEnd && graph.time_ns[node] == 99'000) {
      EXPECT_EQ(graph.ResidualNs(node), 4'000);
    }
  }
}

// Forward on thread 1 (0–100), backward on thread 2 (150–400), thread 1 goes on at 430. Host time
// halved: 50 + 25 + 125 + 15 + 10 for the last operator of 20.
TEST(DependencyGraphTest, ThreadsTakeTurns) {
  Rank rank(0);
  rank.Operator("forward", {0, 100}).Operator("step", {430, 450});
  rank.Operator("backward", {150, 400}, 2);
  rank.Kernel("k", {5, 6}, 7, rank.Call({0, 1}));
  trace::Trace trace = rank.Finish();
  for (RowId row = 0; row < trace.host_ops.size(); ++row) {
    if (trace.Text(trace.host_ops.name[row]) == "backward") {
      trace.host_ops.forward_op[row] = 0;
    }
  }
  trace::TraceSet set;
  set.ranks.push_back(std::move(trace));
  const Example example(std::move(set));
  const DependencyGraph graph = BuildGraph(example.view);
  EXPECT_EQ(CountEdges(graph, EdgeKind::kHandOver), 2);
  EXPECT_EQ(WhatIf(example.view, graph).ScaleHost(0.5).PathNs(), 225'000);
}

// The send is over before the receive begins: both keep their own time, and neither waits.
TEST(DependencyGraphTest, ABufferedMessageIsNotWaitedForByItsSender) {
  trace::TraceSet set;
  for (std::int32_t number = 0; number < 2; ++number) {
    Rank rank(number);
    const RowId group = rank.Group("0", "[0, 1]", 2);
    const bool sends = number == 0;
    rank.Collective({.kind = sends ? CollectiveKind::kSend : CollectiveKind::kRecv,
                     .span = sends ? test_run::Span{10, 20} : test_run::Span{30, 40},
                     .group = group,
                     .bytes = 64,
                     .peer = sends ? 1 : 0,
                     .correlation = rank.Call({sends ? 5 : 25, sends ? 6 : 26})});
    set.ranks.push_back(rank.Finish());
  }
  const Example example(std::move(set));
  ASSERT_EQ(example.view.matched.size(), 1u);
  const DependencyGraph graph = BuildGraph(example.view);
  // Two into the rendezvous, one out of it: to the receiver.
  EXPECT_EQ(CountEdges(graph, EdgeKind::kRendezvous), 3);
  EXPECT_EQ(CountEdges(graph, EdgeKind::kWork), 1);
  EXPECT_EQ(graph.counts.contradictions(), 0);
}

// Property 12: neither the number of threads nor the order of files matters.
TEST(DependencyGraphTest, ThreadsAndOrderOfFilesChangeNothing) {
  const Example example = example_runs::MakeC();
  trace::TraceSet turned = example_runs::MakeC().set;
  std::ranges::reverse(turned.ranks);
  trace::TraceSet same = example_runs::MakeC().set;
  const RunView other = ViewRun(turned, {}, {.threads = 1});
  const RunView again = ViewRun(same, {}, {.threads = 2});
  const DependencyGraph graph = BuildGraph(example.view);
  for (const RunView* run : {&other, &again}) {
    const DependencyGraph compared = BuildGraph(*run);
    EXPECT_EQ(compared.time_ns, graph.time_ns);
    EXPECT_EQ(compared.node_kind, graph.node_kind);
    EXPECT_EQ(compared.node_row, graph.node_row);
    EXPECT_EQ(compared.node_place, graph.node_place);
    EXPECT_EQ(compared.edge_from, graph.edge_from);
    EXPECT_EQ(compared.weight_ns, graph.weight_ns);
  }
}

}  // namespace
}  // namespace orrery::analyze
