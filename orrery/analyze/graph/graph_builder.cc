#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/analyze/graph/blocking_calls.h"
#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/device_lanes.h"
#include "orrery/analyze/graph/edge_grouping.h"
#include "orrery/analyze/graph/event_edges.h"
#include "orrery/analyze/graph/hand_over.h"
#include "orrery/analyze/graph/host_lanes.h"
#include "orrery/analyze/graph/instant_order.h"
#include "orrery/analyze/graph/launch_edges.h"
#include "orrery/analyze/graph/launch_order.h"
#include "orrery/analyze/graph/rendezvous.h"
#include "orrery/analyze/graph/node_numbering.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/graph/step_window.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/parallel.h"

namespace orrery::analyze {
namespace {

void ReserveNodes(RankPart& part) {
  const trace::Trace& trace = *part.trace;
  const std::size_t num_nodes =
      2 * (RowsWithin(trace.host_ops.begin_ns, part.host_window).size() +
           RowsWithin(trace.runtime_calls.begin_ns, part.host_window).size() +
           RowsWithin(trace.activities.begin_ns, part.device_window).size());
  part.time_ns.reserve(num_nodes);
  part.kind.reserve(num_nodes);
  part.row.reserve(num_nodes);
}

void AddNodes(RankPart& part) {
  ReserveNodes(part);
  AddHostNodes(part);
  AddDeviceNodes(part);
  IndexCollectives(part);
  part.meets.assign(part.num_nodes(), false);
  part.waits_for_call.assign(part.num_nodes(), false);
  part.is_handed_over.assign(part.num_nodes(), false);
}

// Whatever has no other reason hangs on the source (E11).
void AddStartEdges(RankPart& part, std::int64_t source_ns) {
  std::vector<bool> has_reason = part.meets;
  for (const PartEdge& edge : part.edges) {
    has_reason[edge.to] = true;
  }
  for (NodeId node = 0; node < part.num_nodes(); ++node) {
    if (!has_reason[node]) {
      part.edges.push_back({.from = kNoNode,
                            .to = node,
                            .weight_ns = part.time_ns[node] - source_ns,
                            .kind = EdgeKind::kStart,
                            .time_class = TimeClass::kStart});
    }
  }
}

// The last node of each lane leads to the sink (E12); streams may end with a short activity.
void AddEndEdges(RankPart& part) {
  for (const std::vector<Lane>* lanes : {&part.threads, &part.streams}) {
    for (const Lane& lane : *lanes) {
      const auto first = part.time_ns.begin() + lane.first;
      const auto last = std::max_element(std::reverse_iterator(part.time_ns.begin() + lane.end),
                                         std::reverse_iterator(first));
      part.edges.push_back({.from = static_cast<NodeId>(last.base() - 1 - part.time_ns.begin()),
                            .to = kNoNode,
                            .kind = EdgeKind::kEnd});
    }
  }
}

void AddEdges(RankPart& part, std::int64_t source_ns) {
  const std::vector<LaunchOrder> orders = LaunchOrders(part);
  part.edges.reserve(part.num_nodes() + static_cast<std::size_t>(part.counts.num_activities));
  AddDeviceEdges(part);
  AddLaunchEdges(part);
  AddEventEdges(part, orders);
  AddBlockingCalls(part, orders);
  AddHandOvers(part);
  AddThreadEdges(part);
  AddStartEdges(part, source_ns);
  AddEndEdges(part);
}

std::vector<RankPart> PrepareParts(const RunView& run, const std::vector<std::uint32_t>& ranks,
                                   const StepWindow& step) {
  std::vector<RankPart> parts(ranks.size());
  ParallelFor(parts.size(), run.options.threads, [&](std::size_t place) {
    parts[place].trace = &run.set->ranks[ranks[place]];
    parts[place].classes = &run.classes[ranks[place]];
    const auto [host_end_ns, device_end_ns] = step.end_of_rank[ranks[place]];
    parts[place].host_window = {step.time.begin_ns, std::min(host_end_ns, step.time.end_ns)};
    parts[place].device_window = {step.time.begin_ns, std::min(device_end_ns, step.time.end_ns)};
    AddNodes(parts[place]);
  });
  return parts;
}

bool HasNodes(const std::vector<RankPart>& parts) {
  return std::ranges::any_of(parts, [](const RankPart& part) { return part.num_nodes() > 0; });
}

std::vector<std::uint32_t> PlacesOfRanks(const std::vector<std::uint32_t>& ranks) {
  std::vector<std::uint32_t> place_of_rank(ranks.size());
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    place_of_rank[ranks[place]] = static_cast<std::uint32_t>(place);
  }
  return place_of_rank;
}

}  // namespace

DependencyGraph BuildGraph(const RunView& run) {
  const std::optional<StepWindow> step = FirstCommonStep(run);
  if (!step) {
    return {};
  }
  const std::vector<std::uint32_t> ranks = trace::PlacesInRankOrder(*run.set);
  std::vector<RankPart> parts = PrepareParts(run, ranks, *step);
  if (!HasNodes(parts)) {
    return {};
  }
  const Rendezvous rendezvous = FindRendezvous(run, parts, PlacesOfRanks(ranks));
  DependencyGraph graph;
  const NodeNumbering numbering(parts, rendezvous, run.options.threads, graph);
  ParallelFor(parts.size(), run.options.threads,
              [&](std::size_t place) { AddEdges(parts[place], graph.time_ns.front()); });
  GroupEdges(numbering, rendezvous, parts, graph);
  OrderInstants(graph);
  graph.step_number = step->number;
  graph.window = step->time;
  graph.launch_gap_ns = run.options.launch_gap_ns;
  graph.rank_index = ranks;
  return graph;
}

}  // namespace orrery::analyze
