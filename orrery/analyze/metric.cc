#include "orrery/analyze/metric.h"

#include <algorithm>
#include <utility>

#include "orrery/base/text.h"

namespace orrery::analyze {
std::optional<NamedMetric> FindMetric(std::string_view name) {
  for (const Metric& metric : AllMetrics()) {
    if (SameIgnoringCase(metric.name, name)) {
      return NamedMetric{.metric = &metric};
    }
  }
  for (const Metric& metric : AllMetrics()) {
    for (const MetricAlias& alias : metric.aliases) {
      if (SameIgnoringCase(alias.name, name)) {
        return NamedMetric{.metric = &metric, .alias = &alias};
      }
    }
  }
  return std::nullopt;
}

MetricResult Evaluate(const NamedMetric& named, const RunView& run) {
  for (const Need& need : named.metric->needs) {
    if (auto reason = WhyUnmet(need, run)) {
      return NotAvailable(*std::move(reason));
    }
  }
  MetricResult result = named.metric->compute(run);
  if (named.alias != nullptr && result.is_ok()) {
    *result.value *= named.alias->scale;
    if (!named.alias->difference.empty()) {
      result.detail.Set("definition", named.alias->difference);
    }
  }
  return result;
}

}  // namespace orrery::analyze
