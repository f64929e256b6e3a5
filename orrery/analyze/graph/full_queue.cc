#include "orrery/analyze/graph/full_queue.h"

#include <algorithm>
#include <cstdint>

namespace orrery::analyze {
namespace {

// A queue has 1,024 places, of which event records and waits take some: recordings show calls that
// block with 992 activities or more before them.
constexpr NodeId kFullQueue = 992;

// The number of activities before `count` of a stream that had ended at a time.
NodeId CountEnded(const RankPart& part, const Lane& lane, NodeId count, std::int64_t time_ns) {
  NodeId low = 0;
  NodeId high = count;
  while (low < high) {
    const NodeId middle = low + (high - low) / 2;
    if (part.time_ns[lane.first + 2 * middle + 1] <= time_ns) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

}  // namespace

NodeId FreedPlaceInQueue(const RankPart& part, NodeId launched, Interval call) {
  const auto lane = std::ranges::find_if(part.streams, [&](const Lane& stream) {
    return stream.first <= launched && launched < stream.end;
  });
  const NodeId place = (launched - lane->first) / 2;
  const NodeId ended_before = CountEnded(part, *lane, place, call.begin_ns);
  if (place - ended_before < kFullQueue) {
    return kNoNode;
  }
  const NodeId ended = CountEnded(part, *lane, place, call.end_ns);
  return ended == ended_before ? kNoNode : lane->first + 2 * (ended - 1);
}

}  // namespace orrery::analyze
