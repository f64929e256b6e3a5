#include "orrery/analyze/graph/hand_over.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {


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

// Whether no event is open between the node before and this one.
bool IsAfterGap(const RankPart& part, NodeId node) {
  return part.open[node] == kNoLabel;
}

std::vector<Burst> BurstsOf(const RankPart& part, const Lane& lane) {
  std::vector<Burst> bursts;
  for (NodeId node = lane.first; node < lane.end; ++node) {
    const bool begins =
        node == lane.first ||
        (IsAfterGap(part, node) && part.time_ns[node] - part.time_ns[node - 1] >= kBurstGapNs);
    if (begins) {
      bursts.push_back({node, node});
    }
    bursts.back().last = node;
  }
  return bursts;
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
  const std::vector<Burst> bursts = BurstsOf(part, working);
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
