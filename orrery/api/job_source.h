#pragma once

#include <string>

#include "orrery/api/job_input.h"
#include "orrery/base/error.h"

namespace orrery::api {

/// Reads the job of the file `path`, or the one whose text is `yaml`, and changes it as the options
/// say. One of both is given.
[[nodiscard]] Result<workload::JobFile> ReadJob(const std::string& path, const std::string& yaml,
                                                const JobInput& changes);

}  // namespace orrery::api
