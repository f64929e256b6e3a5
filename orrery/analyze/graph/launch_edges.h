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

/// Adds an edge from the start of each launch call to the activity it launched, of a call that
/// launched many (a graph) to the first on each stream (E2, E10).
///
/// The weight is the launch latency: the smallest time from call to start that the recording of the
/// rank has for calls of that name, which is one on an idle stream if there was any. Above 30 µs
/// the stream must have waited for something; then it is the smallest of all calls, if that is
/// not above 30 µs too, else unknown and 0.
void AddLaunchEdges(RankPart& part);

/// Adds an edge for each stream that waited for an event (E4): from the end of the last activity
/// launched before the record to the start of the first one launched after the wait.
///
/// Recordings without synchronisation records do not say which stream waits for which: there an
/// activity that was launched after a wait call is taken to have waited for what ended within 20 µs
/// before its start on another stream, if nothing else explains the start better.
void AddEventEdges(RankPart& part, const std::vector<LaunchOrder>& orders);

}  // namespace orrery::analyze
