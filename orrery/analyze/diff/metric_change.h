#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::diff {

/// What a change of a metric means.
enum class Verdict : std::uint8_t {
  kUnknown,  // a run has no value, or neither direction is better
  kSame,
  kBetter,
  kWorse,
};

/// Returns "worse", "better", "same"; "–" for kUnknown.
[[nodiscard]] std::string_view VerdictName(Verdict verdict);

/// A metric in two runs.
struct MetricChange {
  std::string name;
  std::string unit = {};
  Better better = Better::kNeither;
  std::optional<double> before = {};
  std::optional<double> after = {};
  std::string reason_before = {};  // why there is no value
  std::string reason_after = {};

  /// How much larger the second value is, in percent of the first; nothing where there is no value
  /// or the first is zero and the second is not.
  [[nodiscard]] std::optional<double> Percent() const;

  [[nodiscard]] Verdict GetVerdict() const;

  /// By how many percent it got worse: 0 when it did not, infinite when a zero did.
  [[nodiscard]] double WorsePercent() const;

  /// Whether it says anything of better and worse: a direction, and values in both runs.
  [[nodiscard]] bool IsEvaluated() const {
    return better != Better::kNeither && before.has_value() && after.has_value();
  }
};

/// Computes the metrics of both runs.
[[nodiscard]] std::vector<MetricChange> CompareMetrics(const RunView& before, const RunView& after,
                                                       const std::vector<NamedMetric>& metrics);

/// Returns those that got worse by more than `limit_percent`, the worst first (ties in order).
[[nodiscard]] std::vector<MetricChange> WorseThan(const std::vector<MetricChange>& changes,
                                                  double limit_percent);

}  // namespace orrery::analyze::diff
