#pragma once

#include <vector>

#include "orrery/workload/generate/layer_op.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// The end of a step on one rank: the norm of all gradients, then the update of what the rank owns.
[[nodiscard]] std::vector<LayerOp> OptimizerOps(const Job& job, const StageTensors& tensors);

/// How many of its parameters a rank updates itself.
[[nodiscard]] std::int64_t OwnedParameters(const Plan& plan, const RankParameters& parameters);

}  // namespace orrery::workload
