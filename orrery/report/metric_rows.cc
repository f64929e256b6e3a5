#include "orrery/report/metric_rows.h"

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/base/concurrency/parallel.h"
#include "orrery/report/run_report.h"

namespace orrery::report {

std::vector<MetricRow> EvaluateAll(const std::vector<analyze::NamedMetric>& metrics,
                                   const analyze::RunView& run) {
  std::vector<MetricRow> rows(metrics.size());
  ParallelFor(metrics.size(), run.options.threads, [&](std::size_t i) {
    const analyze::NamedMetric& named = metrics[i];
    analyze::MetricResult result = analyze::Evaluate(named, run);
    rows[i] = {
        std::string(named.name()), std::string(named.metric->meaning), result.value,
        std::string(named.unit()), std::move(result.reason),           std::move(result.detail)};
  });
  return rows;
}

std::vector<MetricRow> EvaluateAll(const analyze::RunView& run) {
  std::vector<analyze::NamedMetric> metrics;
  for (const analyze::Metric& metric : analyze::AllMetrics()) {
    metrics.push_back({.metric = &metric});
  }
  return EvaluateAll(metrics, run);
}

}  // namespace orrery::report
