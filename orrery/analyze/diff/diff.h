#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/diff/run_costs.h"
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

/// Where the time of a step goes on one device: means over devices and selected steps. The four
/// parts sum to `window_ns`.
struct StepParts {
  std::optional<double> marker_ns = {};  // the step as its marker on the host says
  double window_ns = 0;                  // the step on the device
  double compute_ns = 0;
  double exposed_communication_ns = 0;
  double exposed_memory_ns = 0;
  double idle_ns = 0;
  std::size_t num_ranks = 0;
  std::size_t num_steps = 0;  // 0: no markers; the whole recording stands for a step
};

[[nodiscard]] StepParts MeasureStepParts(const RunView& run);

/// The largest use of memory that the framework's allocator reported.
struct MemoryPeak {
  std::string name;  // "gpu allocated", "gpu reserved", "cpu allocated", …
  std::int64_t bytes = 0;
};

/// Returns the peaks over the whole recording, each of the chosen rank that uses most; empty where
/// no memory events were recorded.
[[nodiscard]] std::vector<MemoryPeak> PeakMemory(const RunView& run);

struct MemoryChange {
  std::string name;
  std::optional<std::int64_t> before_bytes = {};  // nothing: not recorded in that run
  std::optional<std::int64_t> after_bytes = {};
  Change change = Change::kUnchanged;
};

/// Joins the peaks of two runs. What only one run recorded is neither added nor deleted: nothing is
/// known of the other.
[[nodiscard]] std::vector<MemoryChange> MatchMemory(const std::vector<MemoryPeak>& before,
                                                    const std::vector<MemoryPeak>& after);

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
