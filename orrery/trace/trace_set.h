#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/workload_card.h"

namespace orrery::trace {

/// All ranks of a run, in order of rank, and the workload card of the job.
struct TraceSet {
  std::vector<Trace> ranks;
  std::optional<WorkloadCard> card;
  ProblemLog problems;  // of the run as a whole; each rank has its own

  bool operator==(const TraceSet&) const = default;
};

/// Returns the rank of a trace of the set, or its index where the trace does not know it.
[[nodiscard]] inline std::int32_t RankOf(const TraceSet& set, std::size_t index) {
  const std::int32_t rank = set.ranks[index].info.rank;
  return rank >= 0 ? rank : static_cast<std::int32_t>(index);
}

/// Returns the places of all traces in order of rank; equal ranks stay in order of place.
[[nodiscard]] std::vector<std::uint32_t> PlacesInRankOrder(const TraceSet& set);

}  // namespace orrery::trace
