#include "orrery/analyze/diff/metric_change.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <iterator>
#include <limits>
#include <utility>

#include "orrery/base/parallel.h"

namespace orrery::analyze::diff {
namespace {

// 115 is 15 % more than 100 also where the division says 15.000000000000002.
constexpr double kRounding = 1e-9;

constexpr std::array<std::string_view, 4> kVerdictNames{"–", "same", "better", "worse"};

MetricChange Compare(const NamedMetric& named, const RunView& before, const RunView& after) {
  const MetricResult first = Evaluate(named, before);
  const MetricResult second = Evaluate(named, after);
  return {.name = std::string(named.name()),
          .unit = std::string(named.unit()),
          .better = named.metric->better,
          .before = first.value,
          .after = second.value,
          .reason_before = first.reason,
          .reason_after = second.reason};
}

}  // namespace

std::string_view VerdictName(Verdict verdict) {
  return kVerdictNames[static_cast<std::size_t>(verdict)];
}

std::optional<double> MetricChange::Percent() const {
  if (!before || !after) {
    return std::nullopt;
  }
  if (*before == *after) {
    return 0.0;
  }
  return *before == 0 ? std::nullopt : std::optional(100 * (*after - *before) / std::abs(*before));
}

Verdict MetricChange::GetVerdict() const {
  if (!IsEvaluated()) {
    return Verdict::kUnknown;
  }
  if (*before == *after) {
    return Verdict::kSame;
  }
  return (*after < *before) == (better == Better::kLower) ? Verdict::kBetter : Verdict::kWorse;
}

double MetricChange::WorsePercent() const {
  if (GetVerdict() != Verdict::kWorse) {
    return 0;
  }
  const auto percent = Percent();
  return percent ? std::abs(*percent) : std::numeric_limits<double>::infinity();
}

std::vector<MetricChange> CompareMetrics(const RunView& before, const RunView& after,
                                         const std::vector<NamedMetric>& metrics) {
  std::vector<MetricChange> changes(metrics.size());
  ParallelFor(metrics.size(), before.options.threads,
              [&](std::size_t i) { changes[i] = Compare(metrics[i], before, after); });
  return changes;
}

std::vector<MetricChange> WorseThan(const std::vector<MetricChange>& changes,
                                    double limit_percent) {
  std::vector<MetricChange> worse;
  std::ranges::copy_if(changes, std::back_inserter(worse), [&](const MetricChange& change) {
    return change.WorsePercent() > limit_percent * (1 + kRounding);
  });
  std::ranges::stable_sort(worse, std::ranges::greater{}, &MetricChange::WorsePercent);
  return worse;
}

}  // namespace orrery::analyze::diff
