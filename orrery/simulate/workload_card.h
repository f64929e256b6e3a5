#pragma once

#include "orrery/trace/trace_set.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The workload card of a simulated job: its GPUs, links, parallelism and batch, under the paths of
/// docs/formats/workload-card.md. GPUs that reach each other over one island's links count as one
/// node.
[[nodiscard]] trace::WorkloadCard CardOf(const workload::Job& job);

/// The same of a machine alone, whose job is another tool's.
[[nodiscard]] trace::WorkloadCard MachineCardOf(const workload::Job& machine);

}  // namespace orrery::simulate
