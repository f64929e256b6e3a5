#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/analyze/straggler/segment_use.h"

namespace orrery::analyze {

/// Why the last rank came late to one collective: what it did since the group's collective before,
/// against the rank at the lower median. All ranks leave a collective together, so differences
/// after it explain differences of arrival.
struct LateArrival {
  std::size_t instance = 0;
  std::int32_t rank = 0;           // the last to arrive
  std::int32_t baseline_rank = 0;  // compared with
  std::int64_t excess_ns = 0;      // additional time; 0 or below: no cause here
  std::optional<SegmentUse> use;   // the largest part of the excess
  std::int64_t use_excess_ns = 0;
  std::string culprit;  // the kernel, operator or call; empty when nothing was recorded
};

/// Returns the causes of all counted collectives but the first of each group, in order.
[[nodiscard]] std::vector<LateArrival> ExplainArrivals(const RunView& run);

struct CauseTotal {
  std::int32_t rank = 0;
  SegmentUse use = SegmentUse::kCompute;
  std::string culprit;
  std::int64_t count = 0;
  std::int64_t excess_ns = 0;
};

/// Adds arrivals by rank, use and culprit; largest first. With `by_culprit` off, by rank and use.
[[nodiscard]] std::vector<CauseTotal> TotalCauses(const std::vector<LateArrival>& arrivals,
                                                  bool by_culprit);

}  // namespace orrery::analyze
