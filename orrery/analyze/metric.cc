#include "orrery/analyze/metric.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace orrery::analyze {
namespace {

bool SameName(std::string_view a, std::string_view b) {
  return std::ranges::equal(
      a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

}  // namespace

std::optional<NamedMetric> FindMetric(std::string_view name) {
  for (const Metric& metric : AllMetrics()) {
    if (SameName(metric.name, name)) {
      return NamedMetric{.metric = &metric};
    }
  }
  for (const Metric& metric : AllMetrics()) {
    for (const MetricAlias& alias : metric.aliases) {
      if (SameName(alias.name, name)) {
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
