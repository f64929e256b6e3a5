#pragma once

#include "orrery/base/error.h"
#include "orrery/workload/emit/emit_job.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// A job file of torchtitan, TOML: [training], [parallelism], [activation_checkpoint] and what
/// belongs to them. Its models are code with named flavors, so that [model] is the user's.
[[nodiscard]] Result<EmittedJob> TorchtitanFile(const Job& job);

}  // namespace orrery::workload
