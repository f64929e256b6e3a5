#pragma once

#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

/// Evaluates metrics, on as many threads as the run was prepared with.
[[nodiscard]] std::vector<MetricRow> EvaluateAll(const std::vector<analyze::NamedMetric>& metrics,
                                                 const analyze::RunView& run);

/// All that there are.
[[nodiscard]] std::vector<MetricRow> EvaluateAll(const analyze::RunView& run);

}  // namespace orrery::report
