#pragma once

#include <string>

#include "orrery/report/run_report.h"

namespace orrery::report {

/// Returns the page that `orrery analyze` prints: the findings first, then where the time goes, who
/// arrives late, what the step waits for, and the metrics that apply.
[[nodiscard]] std::string RenderText(const RunReport& report);

}  // namespace orrery::report
