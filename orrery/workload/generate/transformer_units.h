#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/plan/pipeline_schedule.h"

namespace orrery::workload {

/// Cuts a transformer into units: the embedding, blocks, the head.
[[nodiscard]] Result<ModelUnits> TransformerUnits(const Job& job, const PipelineShape& shape);

}  // namespace orrery::workload
