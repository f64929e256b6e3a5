#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/columns.h"
#include "orrery/export/slice_layout.h"
#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::exporting {

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
/// nobody can continue before it, and in pairs of send and receive that overlap; unreliable matches
/// have no waits and no bandwidth.
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
