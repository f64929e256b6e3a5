#include "orrery/analyze/graph/hand_over.h"

#include <algorithm>
#include <cstdint>
#include <set>
#include <utility>
#include <vector>

#include "orrery/trace/tables.h"

namespace orrery::analyze {
namespace {

using trace::RowId;

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
  const RowRange rows = RowsWithin(ops.begin_ns, part.window);
  for (RowId row = rows.first; row < rows.end; ++row) {
    const RowId forward = ops.forward_op[row];
    if (forward != trace::kNoRow && ops.track[forward] != ops.track[row]) {
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

// The first node of the lane after a time; the end of the lane when there is none.
NodeId FirstAfter(const RankPart& part, const Lane& lane, std::int64_t time_ns) {
  const auto begin = part.time_ns.begin();
  return static_cast<NodeId>(std::upper_bound(begin + lane.first, begin + lane.end, time_ns) -
                             begin);
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
  NodeId entered_gap = kNoNode;  // where the other thread goes on, of the last burst that fitted
  NodeId last_of_burst = kNoNode;
  const auto leave = [&] {
    if (entered_gap != kNoNode && entered_gap != waiting.end) {
      AddHandOver(part, last_of_burst, entered_gap);
    }
  };
  for (const Burst& burst : BurstsOf(part, working)) {
    const NodeId next = FirstAfter(part, waiting, part.time_ns[burst.first]);
    const bool fits = next == waiting.end ||
                      (IsAfterGap(part, next) && part.time_ns[burst.last] <= part.time_ns[next]);
    if (!fits) {
      continue;
    }
    if (next != entered_gap) {
      leave();
      entered_gap = next;
      if (next != waiting.first) {
        AddHandOver(part, next - 1, burst.first);
      }
    }
    last_of_burst = burst.last;
  }
  leave();
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
