#pragma once

#include <memory>

#include "orrery/api/call.h"
#include "orrery/api/export.h"
#include "orrery/api/input/run_input.h"
#include "orrery/base/error.h"
#include "orrery/ingest/run.h"

// The rows of a run, as columns.

namespace orrery::api {

/// Reads files or a folder as one run of all ranks: `(*run)->set.ranks` are the traces, in order of
/// rank. Fails where nothing can be read; `is_partial` says whether something was lost.
[[nodiscard]] ORRERY_API Result<std::shared_ptr<const ingest::Run>> OpenRun(
    const RunInput& input, const Progress& progress = {});

}  // namespace orrery::api
