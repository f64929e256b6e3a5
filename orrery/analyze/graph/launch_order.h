#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/graph/rank_part.h"

namespace orrery::analyze {

/// The activities of one stream in the order in which the host launched them, which is the order
/// in which they run.
class LaunchOrder {
 public:
  LaunchOrder(const RankPart& part, const Lane& lane);

  /// Returns the start of the last activity that was launched before a time of the host.
  [[nodiscard]] NodeId LastBefore(std::int64_t host_ns) const;

  /// Returns the start of the first activity that was launched at that time or later.
  [[nodiscard]] NodeId FirstFrom(std::int64_t host_ns) const;

 private:
  NodeId first_ = 0;
  std::vector<std::int64_t> launched_ns_;  // running maximum, so that it can be searched
};

/// Returns the launch orders of all streams of a part.
[[nodiscard]] std::vector<LaunchOrder> LaunchOrders(const RankPart& part);

}  // namespace orrery::analyze
