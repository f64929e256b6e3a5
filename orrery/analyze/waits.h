#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "orrery/trace/matched_collectives.h"
#include "orrery/trace/trace_set.h"

namespace orrery::analyze {

/// How the durations of matched collectives split into waiting for others and moving data. The time
/// of a member is its wait and then its transfer; `transfer_ns` of the collective is the shortest
/// duration of a member, which needs no common clock.
struct CollectiveWaits {
  std::vector<std::int64_t> wait_ns;          // of each row of MatchedCollectives::members
  std::vector<std::int64_t> last_arrival_ns;  // of each instance
  std::vector<std::int64_t> transfer_ns;      // of each instance
  std::vector<std::uint32_t> last_member;     // of each instance: ties go to the lower rank
  /// Of each instance: 1 when it may enter statistics: matched without doubt, timed by kernels, and
  /// no member ended before all had arrived.
  std::vector<std::uint8_t> is_reliable;
  std::int64_t num_doubtful = 0;  // instances that are not
  /// [rank][row of Collectives]: the row of MatchedCollectives::members, or kNoRow. Rows
  /// that one coalesced call served share a member.
  std::vector<std::vector<RowId>> member_of_row;

  /// Returns how long a collective of a rank waited; 0 when it is unmatched or doubtful.
  [[nodiscard]] std::int64_t WaitOfRow(const trace::MatchedCollectives& matched,
                                       std::uint32_t rank_index, RowId row) const;
};

/// Splits by kind of operation: collectives whose outputs need every input wait for the last
/// member, a pair of send and receive for the later of the two (not when the send was buffered),
/// rooted operations for the root where it is known.
[[nodiscard]] CollectiveWaits SplitWaits(const trace::TraceSet& set,
                                         const trace::MatchedCollectives& matched);

}  // namespace orrery::analyze
