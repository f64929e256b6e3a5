#pragma once

#include "orrery/base/error.h"
#include "orrery/cli/simulate/imports.h"
#include "orrery/cli/simulate/options.h"

namespace orrery::cli {

/// Reads the folder of a traced job, for `orrery simulate --from`, and makes all ranks of it.
[[nodiscard]] Result<ImportedProgram> ImportTracedJob(const SimulateArguments& arguments);

}  // namespace orrery::cli
