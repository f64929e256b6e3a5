#include "orrery/analyze/graph/launch_order.h"

#include <algorithm>
#include <limits>

#include "orrery/trace/tables.h"

namespace orrery::analyze {

LaunchOrder::LaunchOrder(const RankPart& part, const Lane& lane) : first_(lane.first) {
  std::int64_t latest_ns = std::numeric_limits<std::int64_t>::min();
  launched_ns_.reserve((lane.end - lane.first) / 2);
  for (NodeId start = lane.first; start < lane.end; start += 2) {
    const RowId launch = part.trace->activities.launch[part.row[start]];
    if (launch != kNoRow) {
      latest_ns = std::max(latest_ns, part.trace->runtime_calls.begin_ns[launch]);
    }
    launched_ns_.push_back(latest_ns);
  }
}

NodeId LaunchOrder::LastBefore(std::int64_t host_ns) const {
  const auto after = std::ranges::lower_bound(launched_ns_, host_ns);
  if (after == launched_ns_.begin()) {
    return kNoNode;
  }
  return first_ + 2 * static_cast<NodeId>(after - launched_ns_.begin() - 1);
}

NodeId LaunchOrder::FirstFrom(std::int64_t host_ns) const {
  const auto found = std::ranges::lower_bound(launched_ns_, host_ns);
  if (found == launched_ns_.end()) {
    return kNoNode;
  }
  return first_ + 2 * static_cast<NodeId>(found - launched_ns_.begin());
}

std::vector<LaunchOrder> LaunchOrders(const RankPart& part) {
  std::vector<LaunchOrder> orders;
  orders.reserve(part.streams.size());
  for (const Lane& lane : part.streams) {
    orders.emplace_back(part, lane);
  }
  return orders;
}

}  // namespace orrery::analyze
