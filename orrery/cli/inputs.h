#pragma once

#include <filesystem>

#include "orrery/api/call.h"
#include "orrery/api/input/job_input.h"
#include "orrery/api/input/run_input.h"
#include "orrery/base/concurrency/progress.h"
#include "orrery/cli/verb.h"

// Shared by verbs: progress, options of runs and jobs.

namespace orrery::cli {

/// The progress of a request as a line.
[[nodiscard]] api::Progress ReportTo(ProgressLine& line);

/// Adds them to a verb; the paths are left to the verb.
void AddRunOptions(Verb& verb, api::RunInput& input);

/// Adds --set, --gpu, --cluster and --models to a verb; the path of the job is left to the verb.
void AddJobOptions(Verb& verb, api::JobInput& input);

/// The folder that the running program lies in; empty when the system does not tell.
[[nodiscard]] std::filesystem::path ProgramFolder();

}  // namespace orrery::cli
