#pragma once

#include <cstdint>
#include <vector>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// The arrivals of one rank at the collectives of its group.
struct RankArrivals {
  std::int32_t rank = 0;
  std::uint32_t rank_index = 0;
  std::int64_t times_last = 0;
  std::int64_t times_first = 0;
  std::int64_t wait_ns = 0;      // its own
  std::int64_t duration_ns = 0;  // in communication kernels
  std::int64_t blame_ns = 0;     // the others' waits where it was last
  std::int64_t gain_ns = 0;      // last - second last where it was last
};

struct GroupArrivals {
  std::uint32_t group = 0;  // MatchedCollectives::groups
  std::int64_t num_collectives = 0;
  double lateness_ns = 0;           // sum of (last - median arrival)
  std::vector<RankArrivals> ranks;  // in order of rank
};

/// Returns the arrivals of every group with reliably matched collectives that synchronise more than
/// one rank. Ties between ranks go to the lower rank.
[[nodiscard]] std::vector<GroupArrivals> CountArrivals(const RunView& run);

/// Adds the arrivals of all groups by rank; those with most blame first, then gain, then rank.
[[nodiscard]] std::vector<RankArrivals> ArrivalsByRank(const std::vector<GroupArrivals>& groups);

}  // namespace orrery::analyze
