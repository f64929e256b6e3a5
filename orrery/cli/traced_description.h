#pragma once

#include <optional>
#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/recorded/traced_job.h"
#include "orrery/workload/job/job.h"

namespace orrery::cli {

/// Reads what the tracer says of the model in a folder's job.yaml; none where it has no such file,
/// as of scripts. People may change that file: it fails where the file describes a model of another
/// size, or another sequence, than the one that was traced.
[[nodiscard]] Result<std::optional<workload::Job>> ReadDescribedJob(
    const std::string& folder, const workload::TracedJob& traced);

}  // namespace orrery::cli
