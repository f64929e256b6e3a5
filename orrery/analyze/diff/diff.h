#pragma once

#include <vector>

#include "orrery/analyze/diff/cost_change.h"
#include "orrery/analyze/diff/memory_peaks.h"
#include "orrery/analyze/diff/metric_change.h"
#include "orrery/analyze/diff/step_parts.h"
#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::diff {

/// What changed from one run to another: measured against measured, or predicted against measured.
struct RunDiff {
  StepParts step_before;
  StepParts step_after;
  std::vector<MetricChange> metrics;
  // Each with the largest difference of time first.
  std::vector<CostChange> kernel_classes;
  std::vector<CostChange> kernels;
  std::vector<CostChange> operators;
  std::vector<CostChange> collectives;
  std::vector<CostChange> copies;
  std::vector<MemoryChange> memory;
};

/// Compares two runs, and these metrics of them. Linear in the events of both.
[[nodiscard]] RunDiff Compare(const RunView& before, const RunView& after,
                              const std::vector<NamedMetric>& metrics);

}  // namespace orrery::analyze::diff
