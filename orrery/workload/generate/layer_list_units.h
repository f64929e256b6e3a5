#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/generate/model_units.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Each layer of a list is a unit, for a micro-batch of samples.
[[nodiscard]] Result<ModelUnits> LayerListUnits(const Job& job);

}  // namespace orrery::workload
