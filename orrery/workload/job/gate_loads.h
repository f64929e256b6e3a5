#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"

namespace orrery::workload {

/// Sets what a job's token routing implies: loads of its log are read (a path beside `job_file`, or
/// as it is), and token_imbalance becomes the mean of what is drawn or recorded. Fails for a log of
/// other experts than the model's.
[[nodiscard]] Status ResolveTokenRouting(const std::string& job_file, Job& job);

}  // namespace orrery::workload
