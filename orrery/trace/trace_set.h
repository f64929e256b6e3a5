#pragma once

#include <cstddef>
#include <map>
#include <optional>

#include "orrery/trace/trace.h"

namespace orrery::trace {

/// The description of a run by its owner: model, data, hardware, parallelism. Cards are written by
/// hand and irregular, so a card is stored as scalar values by dotted path
/// ("workload.data.batch_size"); list elements use their index ("hardware.bandwidth_gbps.0").
struct WorkloadCard {
  std::string file;
  std::map<std::string, std::string, std::less<>> values;

  [[nodiscard]] std::optional<std::string_view> Text(std::string_view path) const;

  /// Numbers as written by hand: "16_384", "1,024", "7e9", "8B" (8·10⁹). Words are absent.
  [[nodiscard]] std::optional<std::int64_t> Integer(std::string_view path) const;
  [[nodiscard]] std::optional<double> Number(std::string_view path) const;

  bool operator==(const WorkloadCard&) const = default;
};

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
