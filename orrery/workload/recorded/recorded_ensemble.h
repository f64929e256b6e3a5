#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/problems.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/recorded/host_model.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::workload {

/// One rank of a job that was recorded.
struct RankGraph {
  const trace::Trace* graph = nullptr;  // an execution trace
  PriceNode price;                      // of the kernels of its nodes; not asked for collectives
  std::int64_t begin_ps = 0;            // when it begins the step, after the first rank
};

struct RecordedEnsemble {
  Ensemble ensemble;
  std::vector<HostCoverage> coverage_of_rank;
  trace::ProblemLog problems;
};

/// Makes the programs of all ranks from their execution traces, in order of rank, with collectives
/// that wait for each other. A group has the ranks that the traces name, or else those that speak
/// in it. Ranks do not begin a step together: `begin_ps` is idle time of the host in front of it.
[[nodiscard]] Result<RecordedEnsemble> EnsembleOfGraphs(std::span<const RankGraph> ranks,
                                                        const HostModel& host);

}  // namespace orrery::workload
