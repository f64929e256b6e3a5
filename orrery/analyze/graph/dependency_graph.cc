#include "orrery/analyze/graph/dependency_graph.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <limits>
#include <optional>
#include <set>
#include <string_view>
#include <vector>

#include "orrery/analyze/graph/critical_path.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/check.h"
#include "orrery/base/columns.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/base/math/interval_set.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {
namespace {

/// The end of a step on one rank. The host runs ahead of the device, so host work after the marker
/// belongs to the next step while the device still works on this one.
struct StepEnd {
  std::int64_t host_ns = 0;
  std::int64_t device_ns = 0;
};

/// The time of one step over all ranks.
struct StepWindow {
  Interval time;             // from the earliest begin to the latest end of all ranks
  std::int64_t number = -1;  // -1: the whole recording
  std::vector<StepEnd> end_of_rank = {};
};

constexpr Interval kNothing{std::numeric_limits<std::int64_t>::max(),
                            std::numeric_limits<std::int64_t>::min()};

void Widen(Interval& window, std::int64_t begin_ns, std::int64_t end_ns) {
  window.begin_ns = std::min(window.begin_ns, begin_ns);
  window.end_ns = std::max(window.end_ns, end_ns);
}

std::optional<StepWindow> WholeRecording(const RunView& run) {
  StepWindow step{.time = kNothing};
  for (const trace::Trace& trace : run.set->ranks) {
    const trace::Span span = trace::RecordedSpan(trace);
    if (span.duration_ns() > 0) {
      Widen(step.time, span.begin_ns, span.end_ns);
    }
  }
  if (step.time == kNothing) {
    return std::nullopt;
  }
  step.end_of_rank.assign(run.set->ranks.size(), {step.time.end_ns, step.time.end_ns});
  return step;
}

// Markers of some tools have no number, so that several steps share one: the first counts.
RowId FirstStepWithNumber(const trace::Trace& trace, const AnalyzeOptions& options,
                          std::int64_t number) {
  for (const RowId step : SelectedSteps(trace, options)) {
    if (trace.steps.number[step] == number) {
      return step;
    }
  }
  return kNoRow;
}

// Of all devices of the rank.
Interval DeviceWindow(const RunView& run, std::uint32_t rank_index, RowId row) {
  Interval whole = kNothing;
  for (const DeviceView& device : run.devices) {
    for (const Window& window : device.windows) {
      if (device.rank_index == rank_index && window.step == row) {
        Widen(whole, window.time.begin_ns, window.time.end_ns);
      }
    }
  }
  return whole;
}

// Adds the step of one rank to the window of all.
void AddRank(const RunView& run, std::uint32_t rank_index, StepWindow& step) {
  const trace::Trace& trace = run.set->ranks[rank_index];
  const RowId row = FirstStepWithNumber(trace, run.options, step.number);
  if (row == kNoRow) {
    return;
  }
  const std::int64_t begin_ns = trace.steps.begin_ns[row];
  StepEnd& end = step.end_of_rank[rank_index];
  end.host_ns = begin_ns + trace.steps.duration_ns[row];
  Widen(step.time, begin_ns, end.host_ns);
  const Interval device = DeviceWindow(run, rank_index, row);
  end.device_ns = end.host_ns;
  if (device != kNothing) {
    end.device_ns = device.end_ns;
    Widen(step.time, device.begin_ns, device.end_ns);
  }
}

// By its markers and device windows.
StepWindow StepNumbered(const RunView& run, std::int64_t number) {
  StepWindow step{.time = kNothing, .number = number};
  step.end_of_rank.assign(run.set->ranks.size(), {kNothing.begin_ns, kNothing.begin_ns});
  for (std::uint32_t rank = 0; rank < run.set->ranks.size(); ++rank) {
    AddRank(run, rank, step);
  }
  return step;
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
  // Whatever has no other reason hangs on the source (E11).
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
  // The last node of each lane leads to the sink (E12); streams may end with a short activity.
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

std::vector<RankPart> PrepareParts(const RunView& run, const std::vector<std::uint32_t>& ranks,
                                   const StepWindow& step) {
  std::vector<RankPart> parts(ranks.size());
  ParallelFor(parts.size(), run.options.threads, [&](std::size_t place) {
    RankPart& part = parts[place];
    part.trace = &run.set->ranks[ranks[place]];
    part.classes = &run.classes[ranks[place]];
    const auto [host_end_ns, device_end_ns] = step.end_of_rank[ranks[place]];
    part.host_window = {step.time.begin_ns, std::min(host_end_ns, step.time.end_ns)};
    part.device_window = {step.time.begin_ns, std::min(device_end_ns, step.time.end_ns)};
    const trace::Trace& trace = *part.trace;
    const std::size_t num_nodes =
        2 * (RowsWithin(trace.host_ops.begin_ns, part.host_window).size() +
             RowsWithin(trace.runtime_calls.begin_ns, part.host_window).size() +
             RowsWithin(trace.activities.begin_ns, part.device_window).size());
    part.time_ns.reserve(num_nodes);
    part.kind.reserve(num_nodes);
    part.row.reserve(num_nodes);
    AddHostNodes(part);
    AddDeviceNodes(part);
    IndexCollectives(part);
    part.meets.assign(part.num_nodes(), false);
    part.waits_for_call.assign(part.num_nodes(), false);
    part.is_handed_over.assign(part.num_nodes(), false);
  });
  return parts;
}

bool HasNodes(const std::vector<RankPart>& parts) {
  return std::ranges::any_of(parts, [](const RankPart& part) { return part.num_nodes() > 0; });
}

}  // namespace

std::string_view TimeClassName(TimeClass time_class) {
  constexpr std::array<std::string_view, kNumTimeClasses> kNames = {
      "compute",         "memory",      "communication", "transfer", "host",
      "host_gap",        "launch",      "sync",          "start",    "order",
      "launch_overhead", "device_wait", "missing_rank"};
  return kNames[static_cast<std::size_t>(time_class)];
}

GraphCounts& GraphCounts::operator+=(const GraphCounts& other) {
  checked_edges += other.checked_edges;
  shortened_edges += other.shortened_edges;
  dropped_edges += other.dropped_edges;
  stream_overlaps += other.stream_overlaps;
  inferred_events += other.inferred_events;
  inferred_syncs += other.inferred_syncs;
  full_queues += other.full_queues;
  unmatched_collectives += other.unmatched_collectives;
  unreliable_matches += other.unreliable_matches;
  graph_activities += other.graph_activities;
  without_launch += other.without_launch;
  idle_threads += other.idle_threads;
  num_activities += other.num_activities;
  return *this;
}

std::int64_t DependencyGraph::ExplainedNs(NodeId node) const {
  if (first_edge[node] == first_edge[node + 1]) {
    return time_ns[node];
  }
  std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
  for (const EdgeId edge : EdgesTo(node)) {
    latest_ns = std::max(latest_ns, time_ns[edge_from[edge]] + weight_ns[edge]);
  }
  return latest_ns;
}

TimeClass DependencyGraph::ResidualClass(NodeId node, std::int64_t residual_ns) const {
  switch (node_kind[node]) {
    case NodeKind::kActivityStart:
    case NodeKind::kActivityEnd:
      return residual_ns < launch_gap_ns ? TimeClass::kLaunchOverhead : TimeClass::kDeviceWait;
    case NodeKind::kRendezvous:
      return TimeClass::kMissingRank;
    case NodeKind::kCallEnd:
      return TimeClass::kSync;
    default:
      return TimeClass::kHostGap;
  }
}

std::optional<std::set<std::int64_t>> CommonSteps(const RunView& run) {
  std::optional<std::set<std::int64_t>> common;
  for (const trace::Trace& trace : run.set->ranks) {
    if (trace.steps.empty()) {
      continue;
    }
    std::set<std::int64_t> numbers;
    for (const RowId step : SelectedSteps(trace, run.options)) {
      numbers.insert(trace.steps.number[step]);
    }
    if (!common) {
      common = numbers;
    } else {
      std::erase_if(*common, [&](std::int64_t number) { return !numbers.contains(number); });
    }
  }
  return common;
}

DependencyGraph BuildGraph(const RunView& run) {
  const std::optional<std::set<std::int64_t>> common = CommonSteps(run);
  if (!common) {
    return BuildGraph(run, std::nullopt);
  }
  return common->empty() ? DependencyGraph() : BuildGraph(run, *common->begin());
}

DependencyGraph BuildGraph(const RunView& run, std::optional<std::int64_t> number) {
  const std::optional<StepWindow> step =
      number ? std::optional(StepNumbered(run, *number)) : WholeRecording(run);
  if (!step) {
    return {};
  }
  const std::vector<std::uint32_t> ranks = trace::PlacesInRankOrder(*run.set);
  std::vector<RankPart> parts = PrepareParts(run, ranks, *step);
  if (!HasNodes(parts)) {
    return {};
  }
  std::vector<std::uint32_t> place_of_rank(ranks.size());
  for (std::size_t place = 0; place < ranks.size(); ++place) {
    place_of_rank[ranks[place]] = static_cast<std::uint32_t>(place);
  }
  const Rendezvous rendezvous = FindRendezvous(run, parts, place_of_rank);
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

const DependencyGraph& GraphOf(const RunView& run) {
  ORRERY_CHECK(run.graph != nullptr, "the view was made by ViewRun");
  return run.graph->Get(run);
}

}  // namespace orrery::analyze
