#pragma once

#include <optional>

#include "orrery/analyze/run_view.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

/// Returns the critical path of the first selected step that all ranks have, in the page's form;
/// nothing when the run has no such step.
[[nodiscard]] std::optional<CriticalPath> RecordedPath(const analyze::RunView& run);

}  // namespace orrery::report
