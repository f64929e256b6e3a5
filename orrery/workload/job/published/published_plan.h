#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/job/framework.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/published/run_row.h"
#include "orrery/workload/plan/plan.h"

namespace orrery::workload {

/// Reads the sharding of parameters, gradients and the state of the optimizer from a row of
/// published runs. The plan has its degrees.
void ReadSharding(RunRow& row, Job& job);

/// Reads how uneven the experts of trained weights are. The plan has its degrees.
void ReadRouting(RunRow& row, Plan& plan);

/// Sequence and context parallelism, the pipeline and experts of a row. The job has its machine,
/// its framework and the degrees of its plan.
[[nodiscard]] Status ReadPlan(RunRow& row, Job& job);

/// Reads the recomputation of a row; if it is not stated, that of its framework. False if neither
/// is known; then no recomputation is assumed.
[[nodiscard]] Result<bool> ReadRecompute(RunRow& row, const Framework& framework, Plan& plan);

}  // namespace orrery::workload
