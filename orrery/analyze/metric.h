#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/need.h"
#include "orrery/base/value.h"

namespace orrery::analyze {

struct RunView;

/// One number of a run, or why there is none, and what stands behind it.
struct MetricResult {
  std::optional<double> value = {};
  std::string reason = {};  // in words, when there is no value
  Value detail = Value::Object();

  [[nodiscard]] bool is_ok() const { return value.has_value(); }

  bool operator==(const MetricResult&) const = default;
};

/// The result of a metric that does not apply; `reason` goes on from "n/a: ".
[[nodiscard]] inline MetricResult NotAvailable(std::string reason) {
  return {.reason = std::move(reason)};
}

/// Another name under which people ask for a metric.
struct MetricAlias {
  std::string_view name;
  /// How the other tool's definition differs; empty when only the spelling does.
  std::string_view difference = {};
  double scale = 1.0;                         // the alias gives `scale` times the value
  std::optional<std::string_view> unit = {};  // if it is not the metric's
};

/// A number that can be asked for by name. To add one: a file in metrics/ with a function that
/// returns this, and a line in the list of metrics (see ADDING_A_METRIC.md).
struct Metric {
  std::string_view name;
  std::string_view meaning;  // one line, for `--list`
  std::string_view unit;     // empty: a plain number
  std::vector<Need> needs;   // in order: the first that is not met is the reason
  std::string_view definition;
  MetricResult (*compute)(const RunView& run);
  std::vector<MetricAlias> aliases = {};
};

/// A metric under the name it was asked for.
struct NamedMetric {
  const Metric* metric = nullptr;
  const MetricAlias* alias = nullptr;  // when the name is not the metric's own

  [[nodiscard]] std::string_view name() const {
    return alias != nullptr ? alias->name : metric->name;
  }

  [[nodiscard]] std::string_view unit() const {
    return alias != nullptr && alias->unit ? *alias->unit : metric->unit;
  }
};

/// All metrics, in the order of the list in CMakeLists.txt.
[[nodiscard]] const std::vector<Metric>& AllMetrics();

/// Finds a metric by name or alias, without regard to case.
[[nodiscard]] std::optional<NamedMetric> FindMetric(std::string_view name);

/// Checks what the metric needs, then computes it.
[[nodiscard]] MetricResult Evaluate(const NamedMetric& named, const RunView& run);

}  // namespace orrery::analyze
