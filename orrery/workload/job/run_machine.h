#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Sets the GPU of a job and the machine that people usually have it in, from what a table calls
/// it. A GPU without such a machine stands alone in one.
[[nodiscard]] Status SetMachine(const std::string& gpu, Job& job);

}  // namespace orrery::workload
