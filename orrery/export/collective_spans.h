#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "orrery/base/columns.h"

namespace orrery::exporting {

/// One rank's part in a collective.
struct CollectiveMember {
  std::size_t rank_index = 0;               // into TraceSet::ranks
  RowId collective = kNoRow;  // Collectives of that rank
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::int64_t wait_ns = 0;  // of it, spent waiting for other members
};

/// A collective operation that was matched across ranks, as the writers draw it.
struct CollectiveSpan {
  std::string group;  // the process group, as people know it
  std::string name;   // "all_reduce"
  std::int64_t bytes = -1;
  double bus_factor = 0;  // bus bytes for each byte of size; 0: not known
  std::vector<CollectiveMember> members;
};

/// What follows from the members of a collective.
struct CollectiveFigures {
  std::int64_t begin_ns = 0;         // first arrival
  std::int64_t end_ns = 0;           // last end
  std::int64_t wait_sum_ns = 0;      // over all members
  std::int64_t transfer_ns = 0;      // the shortest member: its wait is the smallest
  std::size_t last_member = 0;       // the one that arrived last; the first of equals
  double bus_bytes_per_second = -1;  // -1: not known
};

/// The span must have a member.
[[nodiscard]] CollectiveFigures FiguresOf(const CollectiveSpan& span);

/// Sets every member's wait to the time between its begin and the last arrival, at most its
/// duration: right for the kinds in which each output needs every input.
void WaitForLastArrival(CollectiveSpan& span);

}  // namespace orrery::exporting
