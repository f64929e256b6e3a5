#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/run_row.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// How a row of published runs shards parameters, gradients and the state of the optimizer. The
/// plan has its degrees.
void ReadSharding(RunRow& row, Plan& plan);

/// Sequence and context parallelism, the pipeline and experts of a row. The job has its machine,
/// its framework and the degrees of its plan.
[[nodiscard]] Status ReadPlan(RunRow& row, Job& job);

/// What a row recomputes; where it does not say, what its framework is known to. False where
/// neither does, and nothing is assumed to be.
[[nodiscard]] Result<bool> ReadRecompute(RunRow& row, const Framework& framework, Plan& plan);

}  // namespace orrery::workload
