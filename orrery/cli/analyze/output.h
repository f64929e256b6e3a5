#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/metric.h"

namespace orrery::cli {

/// A metric as it was asked for, with its answer.
struct NamedResult {
  std::string name;
  std::string unit;
  std::string meaning;
  analyze::MetricResult result;
};

/// The JSON document of `orrery analyze --json`; its keys are in docs/formats/analyze-json.md.
[[nodiscard]] std::string AnalyzeJson(const std::vector<NamedResult>& results);

/// One line a metric: metric,value,unit,status,reason.
[[nodiscard]] std::string AnalyzeCsv(const std::vector<NamedResult>& results);

/// Each metric with what stands behind it, for people.
[[nodiscard]] std::string AnalyzeText(const std::vector<NamedResult>& results);

/// The table of `--list PATH`: each metric with `ok` or the reason why not.
[[nodiscard]] std::string StatusText(const std::vector<NamedResult>& results);

/// The table of `--list` alone: what each metric means and needs.
[[nodiscard]] std::string MetricListText();

}  // namespace orrery::cli
