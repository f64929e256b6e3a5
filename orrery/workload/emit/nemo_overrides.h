#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// `nemo llm pretrain --factory RECIPE trainer.strategy.tensor_model_parallel_size=8 …`: overrides
/// of a recipe of NeMo 2, one a line. All that differs from the recipe is told, also what is off.
[[nodiscard]] Result<EmittedJob> NemoOverrides(const Job& job);

}  // namespace orrery::workload
