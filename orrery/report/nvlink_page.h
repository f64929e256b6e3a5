#pragma once

#include <string_view>

#include "orrery/analyze/run_view.h"
#include "orrery/base/error.h"
#include "orrery/report/document.h"

namespace orrery::report {

/// Returns the NVLink traffic of a run: for each GPU its throughput over time with the peak marked,
/// its numbers, and the intervals with the highest rates with the kernels that ran in them. Fails
/// when the run has no counters.
[[nodiscard]] Result<Document> NvlinkDocument(const analyze::RunView& run, std::string_view title);

}  // namespace orrery::report
