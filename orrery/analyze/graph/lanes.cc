#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <tuple>
#include <utility>
#include <vector>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/graph/rank_part.h"
#include "orrery/base/columns.h"
#include "orrery/trace/kernel_class.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

std::int64_t EndOf(const trace::Activities& activities, RowId row) {
  return activities.begin_ns[row] + activities.duration_ns[row];
}

// Of activities that begin together the shorter one went first.
void SortLane(const trace::Activities& activities, std::vector<RowId>& rows) {
  const auto key = [&](RowId row) {
    return std::tuple(activities.begin_ns[row], EndOf(activities, row), row);
  };
  if (!std::ranges::is_sorted(rows, {}, key)) {
    std::ranges::sort(rows, {}, key);
  }
}

void AddStream(RankPart& part, RowId track, const std::vector<RowId>& rows) {
  const trace::Activities& activities = part.trace->activities;
  Lane lane{.track = track, .first = part.num_nodes()};
  for (const RowId row : rows) {
    const NodeId start = part.AddNode(activities.begin_ns[row], NodeKind::kActivityStart, row);
    part.AddNode(EndOf(activities, row), NodeKind::kActivityEnd, row);
    part.activity_start.Set(row, start);
  }
  lane.end = part.num_nodes();
  part.streams.push_back(lane);
}

TimeClass WorkClass(trace::KernelClass kernel_class) {
  switch (kernel_class) {
    case trace::KernelClass::kCommunication:
      return TimeClass::kCommunication;
    case trace::KernelClass::kMemory:
      return TimeClass::kMemory;
    default:
      return TimeClass::kCompute;
  }
}

void AddWork(RankPart& part, NodeId start) {
  const NodeId end = start + 1;
  if (part.meets[end]) {
    return;
  }
  const TimeClass time_class = WorkClass((*part.classes)[part.row[start]]);
  part.counts.unmatched_collectives += time_class == TimeClass::kCommunication ? 1 : 0;
  part.edges.push_back({.from = start,
                        .to = end,
                        .weight_ns = part.time_ns[end] - part.time_ns[start],
                        .kind = EdgeKind::kWork,
                        .time_class = time_class});
}

// The number of preceding activities that are searched; a stream runs few at a time.
constexpr NodeId kMostOverlaps = 16;

// Activities of one stream may overlap (branches of a graph, kernels that start early, coarse
// clocks), which contradicts nothing: the last one that had ended is the reason.
void AddStreamOrder(RankPart& part, const Lane& lane, NodeId start) {
  const NodeId before = std::min(kMostOverlaps, (start - lane.first) / 2);
  for (NodeId back = 1; back <= before; ++back) {
    const NodeId end = start + 1 - 2 * back;
    if (part.time_ns[end] <= part.time_ns[start]) {
      part.edges.push_back({.from = end, .to = start, .kind = EdgeKind::kStreamOrder});
      return;
    }
    part.counts.stream_overlaps += back == 1 ? 1 : 0;
  }
}

struct HostEvent {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  HostLabel label;
  bool hides_inside = false;
};

// Turns the events of one thread, given in order of begin, into nodes in order of time.
class ThreadNodes {
 public:
  struct Node {
    std::int64_t time_ns = 0;
    HostLabel label;
    std::uint32_t open = kNoLabel;
    bool is_end = false;
  };

  void Begin(const HostEvent& event) {
    while (!open_.empty() && open_.back().end_ns <= event.begin_ns) {
      CloseLast();
    }
    if (!open_.empty() && open_.back().hides_inside) {
      return;
    }
    nodes_.push_back({event.begin_ns, event.label,
                      open_.empty() ? kNoLabel : PackHostLabel(open_.back().label), false});
    // Events nest, so the new one goes to the back; one that outlasts those around it goes below.
    auto place = open_.end();
    while (place != open_.begin() && (place - 1)->end_ns < event.end_ns) {
      --place;
    }
    open_.insert(place, event);
  }

  const std::vector<Node>& Finish() {
    while (!open_.empty()) {
      CloseLast();
    }
    return nodes_;
  }

 private:
  void CloseLast() {
    const HostEvent& event = open_.back();
    nodes_.push_back({event.end_ns, event.label, PackHostLabel(event.label), true});
    open_.pop_back();
  }

  std::vector<HostEvent> open_;  // the one that ends first is the last
  std::vector<Node> nodes_;
};

// The operators and calls of the step in order of begin; the longer of two goes first.
template <typename Visit>
void ForEachHostEvent(const RankPart& part, Visit&& visit) {
  const trace::HostOps& ops = part.trace->host_ops;
  const trace::RuntimeCalls& calls = part.trace->runtime_calls;
  const RowRange op_rows = RowsWithin(ops.begin_ns, part.host_window);
  const RowRange call_rows = RowsWithin(calls.begin_ns, part.host_window);
  RowId op = op_rows.first;
  RowId call = call_rows.first;
  while (op < op_rows.end || call < call_rows.end) {
    const bool takes_op = call == call_rows.end ||
                          (op < op_rows.end && (ops.begin_ns[op] < calls.begin_ns[call] ||
                                                (ops.begin_ns[op] == calls.begin_ns[call] &&
                                                 ops.duration_ns[op] >= calls.duration_ns[call])));
    if (takes_op) {
      visit(ops, op++, false);
    } else {
      visit(calls, call++, true);
    }
  }
}

// Threads that run no operator and launch nothing look on: watchdogs that ask for events.
bool TakesPart(const std::vector<ThreadNodes::Node>& nodes, const std::vector<bool>& launches,
               RowId first_call) {
  return std::ranges::any_of(nodes, [&](const ThreadNodes::Node& node) {
    return !node.label.is_call || launches[node.label.row - first_call];
  });
}

NodeKind KindOf(const ThreadNodes::Node& node) {
  if (node.label.is_call) {
    return node.is_end ? NodeKind::kCallEnd : NodeKind::kCallStart;
  }
  return node.is_end ? NodeKind::kOperatorEnd : NodeKind::kOperatorStart;
}

void AddThread(RankPart& part, RowId track, const std::vector<ThreadNodes::Node>& nodes) {
  Lane lane{.track = track, .first = part.num_nodes()};
  for (const ThreadNodes::Node& node : nodes) {
    const NodeId id = part.AddNode(node.time_ns, KindOf(node), node.label.row);
    part.open.push_back(node.open);
    if (node.label.is_call) {
      (node.is_end ? part.call_end : part.call_start).Set(node.label.row, id);
    }
  }
  lane.end = part.num_nodes();
  part.threads.push_back(lane);
}

// The edge from a node to the next one on its thread.
PartEdge ThreadEdge(const RankPart& part, NodeId from) {
  const NodeId to = from + 1;
  PartEdge edge{.from = from,
                .to = to,
                .weight_ns = part.time_ns[to] - part.time_ns[from],
                .time_class = part.open[to] == kNoLabel ? TimeClass::kHostGap : TimeClass::kHost,
                .label = part.open[to]};
  if (part.is_handed_over[to]) {
    edge.weight_ns = 0;
  }
  return edge;
}

constexpr std::int64_t kBurstGapNs = 50'000;          // a longer pause ends a burst
constexpr std::int64_t kLongestHandOverNs = 100'000;  // the rest stays unexplained

struct Burst {
  NodeId first = 0;
  NodeId last = 0;
};

// Pairs of tracks: who ran the forward operators, who ran their backward operators.
std::set<std::pair<RowId, RowId>> TracksInTurns(const RankPart& part) {
  std::set<std::pair<RowId, RowId>> pairs;
  const trace::HostOps& ops = part.trace->host_ops;
  const RowRange rows = RowsWithin(ops.begin_ns, part.host_window);
  for (RowId row = rows.first; row < rows.end; ++row) {
    const RowId forward = ops.forward_op[row];
    if (forward != kNoRow && ops.track[forward] != ops.track[row]) {
      pairs.emplace(ops.track[forward], ops.track[row]);
    }
  }
  return pairs;
}

const Lane* ThreadOf(const RankPart& part, RowId track) {
  const auto found = std::ranges::find(part.threads, track, &Lane::track);
  return found == part.threads.end() ? nullptr : &*found;
}

// Returns true if no event is open between the previous node and this one.
bool IsAfterGap(const RankPart& part, NodeId node) {
  return part.open[node] == kNoLabel;
}

// The node with which the lane goes on after a time at which it does nothing for long enough; the
// end of the lane when nothing follows, kNoNode when it is busy.
NodeId NextAfterPause(const RankPart& part, const Lane& lane, std::int64_t time_ns) {
  const auto begin = part.time_ns.begin();
  const auto next =
      static_cast<NodeId>(std::upper_bound(begin + lane.first, begin + lane.end, time_ns) - begin);
  const bool is_pause =
      next == lane.first || next == lane.end ||
      (IsAfterGap(part, next) && part.time_ns[next] - part.time_ns[next - 1] >= kBurstGapNs);
  return is_pause ? next : kNoNode;
}

void AddHandOver(RankPart& part, NodeId from, NodeId to) {
  part.is_handed_over[to] = true;
  part.edges.push_back(
      {.from = from,
       .to = to,
       .weight_ns = std::min(part.time_ns[to] - part.time_ns[from], kLongestHandOverNs),
       .kind = EdgeKind::kHandOver,
       .time_class = TimeClass::kHost});
}

void AddTurns(RankPart& part, const Lane& waiting, const Lane& working) {
  std::vector<Burst> bursts;
  for (NodeId node = working.first; node < working.end; ++node) {
    const bool begins =
        node == working.first ||
        (IsAfterGap(part, node) && part.time_ns[node] - part.time_ns[node - 1] >= kBurstGapNs);
    if (begins) {
      bursts.push_back({node, node});
    }
    bursts.back().last = node;
  }
  NodeId last_pause = kNoNode;  // in which the burst before ended
  for (std::size_t burst = 0; burst < bursts.size(); ++burst) {
    const auto [first, last] = bursts[burst];
    const NodeId pause_before = NextAfterPause(part, waiting, part.time_ns[first]);
    if (pause_before != kNoNode && pause_before != last_pause && pause_before != waiting.first) {
      AddHandOver(part, pause_before - 1, first);
    }
    const NodeId pause_after = NextAfterPause(part, waiting, part.time_ns[last]);
    const bool is_last_in_pause =
        burst + 1 == bursts.size() ||
        NextAfterPause(part, waiting, part.time_ns[bursts[burst + 1].first]) != pause_after;
    if (pause_after != kNoNode && pause_after != waiting.end && is_last_in_pause) {
      AddHandOver(part, last, pause_after);
    }
    last_pause = pause_after;
  }
}

}  // namespace

void AddDeviceNodes(RankPart& part) {
  const RowRange rows = RowsWithin(part.trace->activities.begin_ns, part.device_window);
  part.activity_start = RowMap(rows.first, rows.size());
  // One list more than tracks: activities of no track.
  const trace::Activities& activities = part.trace->activities;
  const std::size_t num_tracks = part.trace->tracks.size();
  std::vector<std::vector<RowId>> by_track(num_tracks + 1);
  for (RowId row = rows.first; row < rows.end; ++row) {
    if (EndOf(activities, row) <= part.device_window.end_ns) {
      const RowId track = activities.track[row];
      by_track[track == kNoRow ? num_tracks : track].push_back(row);
    }
  }
  for (std::size_t track = 0; track < by_track.size(); ++track) {
    if (!by_track[track].empty()) {
      const bool is_known = track + 1 < by_track.size();
      SortLane(part.trace->activities, by_track[track]);
      AddStream(part, is_known ? static_cast<RowId>(track) : kNoRow, by_track[track]);
      part.counts.num_activities += static_cast<std::int64_t>(by_track[track].size());
    }
  }
}

void AddDeviceEdges(RankPart& part) {
  for (const Lane& lane : part.streams) {
    for (NodeId start = lane.first; start < lane.end; start += 2) {
      AddWork(part, start);
      AddStreamOrder(part, lane, start);
    }
  }
}

void AddHostNodes(RankPart& part) {
  const RowRange calls = RowsWithin(part.trace->runtime_calls.begin_ns, part.host_window);
  part.call_start = RowMap(calls.first, calls.size());
  part.call_end = RowMap(calls.first, calls.size());
  // Calls of the step that launched something.
  std::vector<bool> launches(calls.size(), false);
  for (const RowId launch : part.trace->activities.launch) {
    if (launch >= calls.first && launch < calls.end) {
      launches[launch - calls.first] = true;
    }
  }
  std::vector<ThreadNodes> threads(part.trace->tracks.size());
  BlockingNames blocking(*part.trace, &ClassifyBlockingCall);
  ForEachHostEvent(part, [&](const auto& table, RowId row, bool is_call) {
    const std::int64_t begin_ns = table.begin_ns[row];
    const std::int64_t end_ns = begin_ns + table.duration_ns[row];
    if (table.track[row] != kNoRow && end_ns <= part.host_window.end_ns) {
      const bool hides_inside = is_call && blocking(table.name[row]) != Blocking::kNever;
      threads[table.track[row]].Begin(
          {begin_ns, end_ns, {.row = row, .is_call = is_call}, hides_inside});
    }
  });
  for (RowId track = 0; track < threads.size(); ++track) {
    const std::vector<ThreadNodes::Node>& nodes = threads[track].Finish();
    if (TakesPart(nodes, launches, calls.first)) {
      AddThread(part, track, nodes);
    } else {
      part.counts.idle_threads += nodes.empty() ? 0 : 1;
    }
  }
}

void AddThreadEdges(RankPart& part) {
  for (const Lane& lane : part.threads) {
    for (NodeId node = lane.first; node + 1 < lane.end; ++node) {
      if (!part.waits_for_call[node]) {
        part.edges.push_back(ThreadEdge(part, node));
      }
    }
  }
}

void AddHandOvers(RankPart& part) {
  for (const auto& [forward, backward] : TracksInTurns(part)) {
    const Lane* waiting = ThreadOf(part, forward);
    const Lane* working = ThreadOf(part, backward);
    if (waiting != nullptr && working != nullptr) {
      AddTurns(part, *waiting, *working);
    }
  }
}

}  // namespace orrery::analyze
