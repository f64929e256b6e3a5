#pragma once

#include <string>
#include <vector>

#include "orrery/analyze/run_view.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

/// What the caller knows in addition to the run.
struct CollectOptions {
  std::string title;
  std::vector<MetricRow> metrics = {};
};

/// Gathers what the page shows of a run. Linear in its events, devices in parallel.
[[nodiscard]] RunReport CollectReport(const analyze::RunView& run, CollectOptions options);

}  // namespace orrery::report
