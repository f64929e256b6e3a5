#pragma once

#include <vector>

#include "orrery/api/view/results.h"
#include "orrery/api/view/viewed_run.h"

// Sections of tabs beside those of the report.

namespace orrery::api::view {

/// Adds a section about the memory that the framework's allocator recorded over time.
void AddRecordedMemory(const ViewedRun& run, std::vector<Section>& sections);

/// Adds a table of recorded kernels beside what models predict for them, or why there is none.
void AddPredictedKernels(const ViewedRun& run, std::vector<Section>& sections);

}  // namespace orrery::api::view
