#pragma once

#include <string>

#include "orrery/api/input/job_input.h"
#include "orrery/base/error.h"

namespace orrery::workload {
struct JobText;
}  // namespace orrery::workload

namespace orrery::api {

/// Reads the job of the file `path`, or the one whose text is `yaml`, and changes it as the options
/// say. One of both is given.
[[nodiscard]] Result<workload::JobFile> ReadJob(const std::string& path, const std::string& yaml,
                                                const JobInput& changes);

/// The same before it is read: a verb that changes it in many ways reads it again each time.
[[nodiscard]] Result<workload::JobText> ReadJobText(const std::string& path,
                                                    const std::string& yaml);

}  // namespace orrery::api
