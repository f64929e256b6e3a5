#pragma once

#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/base/columns.h"
#include "orrery/trace/trace.h"

namespace orrery::analyze {

/// Returns the selected steps of a rank on one device (see Window). Without steps: one window from
/// the first to the last activity. Without launch calls the markers' own times are used.
[[nodiscard]] std::vector<Window> DeviceWindows(const trace::Trace& trace,
                                                const std::vector<RowId>& activities,
                                                const AnalyzeOptions& options);

}  // namespace orrery::analyze
