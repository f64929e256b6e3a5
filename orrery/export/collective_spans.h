#pragma once

#include <cstddef>
#include <span>

#include "orrery/trace/collective/matched_collectives.h"

namespace orrery::exporting {

/// A slice of one track that is to be drawn.
struct LayoutSlice {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;

  /// Slices of higher layers are moved to make room for those of lower ones.
  std::uint8_t layer = 0;

  /// Belongs inside the slice before it, on the same lane.
  bool attached = false;
};

using Lane = std::uint16_t;

/// Gives each slice a lane, so that any two slices of one lane are apart or one lies inside the
/// other: what viewers demand of a thread. Lanes count from 0; slices come in order of begin time,
/// ties longer first.
///
/// The lowest layer is laid out greedily: a slice goes to the first lane that it fits. Of each
/// further layer the slices that cross nothing on lane 0 join it, and the others are laid out on
/// new lanes; so unusual rows do not displace kernels. Deterministic; costs O(n log n) for n
/// slices on few lanes.
[[nodiscard]] std::vector<Lane> LayOutSlices(std::span<const LayoutSlice> slices);

/// Returns how many lanes a layout uses; at least one.
[[nodiscard]] Lane CountLanes(std::span<const Lane> lanes);

/// One rank's part in a collective.
struct CollectiveMember {
  std::size_t rank_index = 0;  // into TraceSet::ranks
  RowId collective = kNoRow;   // Collectives of that rank
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t wait_ns = 0;  // of it, spent waiting for other members
};

/// A collective operation that was matched across ranks, as the writers draw it.
struct CollectiveSpan {
  std::string group;  // title of the process group
  std::string name;   // "all_reduce"
  std::int64_t bytes = -1;
  double bus_factor = 0;  // bus bytes per byte of message; 0: unknown
  std::vector<CollectiveMember> members;
};

/// Metrics derived from the members of a collective.
struct CollectiveMetrics {
  std::int64_t begin_ns = 0;         // first arrival
  std::int64_t end_ns = 0;           // last end
  std::int64_t wait_sum_ns = 0;      // over all members
  std::int64_t transfer_ns = 0;      // the shortest member: its wait is the smallest
  std::size_t last_member = 0;       // the one that arrived last; the first of equals
  double bus_bytes_per_second = -1;  // -1: unknown
};

/// The span must have a member.
[[nodiscard]] CollectiveMetrics MetricsOf(const CollectiveSpan& span);

/// Converts the collectives matched over a run. Members wait for the last arrival in kinds where
/// no rank can continue before it, and in pairs of send and receive that overlap; unreliable
/// matches have no waits and no bandwidth.
[[nodiscard]] std::vector<CollectiveSpan> SpansOf(const trace::TraceSet& set,
                                                  const trace::MatchedCollectives& matched);

/// The collectives of one process group, with the lanes they are drawn on.
struct CollectiveRow {
  struct Slice {
    std::size_t span = 0;  // into the list of collectives
    CollectiveMetrics metrics;
    Lane lane = 0;
  };

  std::string group;
  std::vector<Slice> slices;  // by begin, ties longer first
  Lane num_lanes = 1;
};

/// Sorts collectives into one row for each group, groups in order of first appearance. Collectives
/// without members have no time and are left out.
[[nodiscard]] std::vector<CollectiveRow> LayOutCollectives(
    std::span<const CollectiveSpan> collectives);

/// Returns whether any rank's times count from 1970.
[[nodiscard]] bool HasEpochTimes(const trace::TraceSet& set);

/// Returns the earliest time of anything that is written, 0 when there is nothing.
[[nodiscard]] std::int64_t EarliestTime(const trace::TraceSet& set,
                                        std::span<const CollectiveSpan> collectives);

/// Returns the whole second at or before a time.
[[nodiscard]] std::int64_t FloorToSecond(std::int64_t at_ns);

}  // namespace orrery::exporting
