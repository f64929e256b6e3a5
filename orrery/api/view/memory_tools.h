#pragma once

#include <vector>

#include "orrery/api/view/viewed_run.h"
#include "orrery/report/document.h"

namespace orrery::api::view {

/// The documents of the tools of `orrery memory` for a recorded run, of each whose needs it meets.
[[nodiscard]] std::vector<report::Document> MemoryDocuments(const ViewedRun& run);

}  // namespace orrery::api::view
