#pragma once

#include <vector>

#include "orrery/api/analyze.h"
#include "orrery/report/run_report.h"

namespace orrery::api {

[[nodiscard]] Keyed<AnalyzedMetric> MetricsOf(const std::vector<report::MetricRow>& rows);

/// Sets time, findings, communication and kernels.
void AddSummary(const report::RunReport& report, AnalyzeResult& result);

}  // namespace orrery::api
