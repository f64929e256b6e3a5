#pragma once

#include <optional>
#include <vector>

#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/trace/workload_card.h"

namespace orrery::trace {

/// All ranks of a run, in order of rank, and what is known of the job.
struct TraceSet {
  std::vector<Trace> ranks;
  std::optional<WorkloadCard> card;
  ProblemLog problems;  // of the run as a whole; each rank has its own

  bool operator==(const TraceSet&) const = default;
};

}  // namespace orrery::trace
