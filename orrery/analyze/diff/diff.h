#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::diff {

/// The cost of all rows with one name in a step of one device: means over devices and selected
/// steps, so that runs of different lengths and sizes compare.
struct Cost {
  double count = 0;
  double device_ns = 0;
  double host_ns = 0;  // of operators: their own time, without that of operators inside
  double wait_ns = 0;  // of communication: the part of device_ns that waits for other ranks
  double bytes = 0;    // of messages and copies, where known

  Cost& operator+=(const Cost& other);
  bool operator==(const Cost&) const = default;
};

struct NamedCost {
  std::string name;
  Cost cost;
  std::string kernel_class = {};  // of kernels
};

enum class Change : std::uint8_t { kUnchanged, kAdded, kDeleted, kIncreased, kDecreased };

[[nodiscard]] std::string_view ChangeName(Change change);

/// Compares two amounts: up to 1 % of the first counts as no change.
[[nodiscard]] Change ChangeOf(double before, double after);

struct CostChange {
  std::string name;
  std::string kernel_class = {};
  Cost before = {};
  Cost after = {};
  Change change = Change::kUnchanged;

  /// Returns how much more time it takes in the second run: device time if it has any, else host
  /// time.
  [[nodiscard]] double DifferenceNs() const;
};

/// Joins the costs of two runs by exact name (two template instances of a kernel are two kernels;
/// their class shows the sum). The largest differences come first, ties by name. Names within a
/// list must differ. "Added" and "deleted" names occur in one run only; else the time decides, or
/// the count where nothing has a time.
[[nodiscard]] std::vector<CostChange> MatchCosts(const std::vector<NamedCost>& before,
                                                 const std::vector<NamedCost>& after);

enum class Verdict : std::uint8_t {
  kUnknown,  // a run has no value, or neither direction is better
  kSame,
  kBetter,
  kWorse,
};

/// Returns "worse", "better", "same"; "–" for kUnknown.
[[nodiscard]] std::string_view VerdictName(Verdict verdict);

struct MetricChange {
  std::string name;
  std::string unit = {};
  Better better = Better::kNeither;
  std::optional<double> before = {};
  std::optional<double> after = {};
  std::string reason_before = {};  // why there is no value
  std::string reason_after = {};
  double step_before_ns = 0;  // on the device; of Better::kLowerTime
  double step_after_ns = 0;

  /// Returns how much larger the second value is, in percent of the first; nothing if a value is
  /// missing, or if the first is zero and the second is not.
  [[nodiscard]] std::optional<double> Percent() const;

  [[nodiscard]] Verdict GetVerdict() const;

  /// By how many percent it got worse: 0 when it did not, infinite when a zero did. A share of the
  /// step counts by the time that it stands for.
  [[nodiscard]] double WorsePercent() const;

  /// Returns true if the change can be better or worse: it has a direction, and values in both
  /// runs.
  [[nodiscard]] bool IsEvaluated() const {
    return better != Better::kNeither && before.has_value() && after.has_value();
  }
};

/// Returns those that got worse by more than `limit_percent`, the worst first (ties in order).
[[nodiscard]] std::vector<MetricChange> WorseThan(const std::vector<MetricChange>& changes,
                                                  double limit_percent);

/// The division of a step's time on one device: means over devices and selected steps. The four
/// parts sum to `window_ns`.
struct StepParts {
  std::optional<double> step_ns = {};  // the step time; nothing without steps
  double span_ns = 0;                  // the recorded span
  double window_ns = 0;                // of a step on a device: see Window
  double compute_ns = 0;
  double exposed_communication_ns = 0;
  double exposed_memory_ns = 0;
  double idle_ns = 0;
  std::size_t num_ranks = 0;
  std::size_t num_steps = 0;  // 0: no markers; the whole recording stands for a step
};

struct MemoryChange {
  std::string name;
  std::optional<std::int64_t> before_bytes = {};  // nothing: not recorded in that run
  std::optional<std::int64_t> after_bytes = {};
  Change change = Change::kUnchanged;
};

/// The changes from one run to another: measured against measured, or predicted against measured.
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
