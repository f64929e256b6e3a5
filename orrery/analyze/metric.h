#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "orrery/analyze/run_view.h"  // IWYU pragma: export
#include "orrery/base/document/value.h"

namespace orrery::analyze {

// Reasons that several metrics give when they do not apply; all follow "n/a: ".
inline constexpr const char* kNoGpuReason = "no GPU activity in the selected steps";
inline constexpr const char* kNoStepsReason =
    "no step markers; pass --step-marker REGEX or a card with iteration";
inline constexpr const char* kNoCommunicationReason = "no communication kernels";
inline constexpr const char* kNoSizesReason =
    "message sizes are not in the trace (record with PyTorch 2.3 or newer, or add the execution "
    "trace)";
inline constexpr const char* kNoMatchReason = "no collective could be matched across ranks";
inline constexpr const char* kNoGeometryReason = "launch geometry or SM count unknown";
inline constexpr const char* kNoComputeReason = "no compute kernels in the selected steps";

/// Returns why a need of a metric (see Metric::needs) is not met, in words that follow "n/a: ", or
/// nothing.
[[nodiscard]] std::optional<std::string> WhyUnmet(std::string_view need, const RunView& run);

/// The value of a metric or the reason why there is none, with supporting detail.
struct MetricResult {
  std::optional<double> value = {};
  std::string reason = {};  // in words, when there is no value
  Value detail = Value::Object();

  [[nodiscard]] bool is_ok() const { return value.has_value(); }

  bool operator==(const MetricResult&) const = default;
};

/// The result of a metric that does not apply; `reason` follows "n/a: ".
[[nodiscard]] inline MetricResult NotAvailable(std::string reason) {
  return {.reason = std::move(reason)};
}

struct MetricAlias {
  std::string_view name;
  /// The difference of the other tool's definition; empty if only the name differs.
  std::string_view difference = {};
  double scale = 1.0;                         // the alias gives `scale` times the value
  std::optional<std::string_view> unit = {};  // if it is not the metric's
};

[[nodiscard]] inline std::vector<MetricAlias> Alias(std::string_view name,
                                                    std::string_view difference = {},
                                                    double scale = 1.0,
                                                    std::optional<std::string_view> unit = {}) {
  return {{name, difference, scale, unit}};
}

/// The direction in which a metric improves. Neither: it describes the run
/// (volumes, counts), or a change can be good or bad (a share of time shrinks when the rest grows).
enum class Better : std::uint8_t {
  kNeither,
  kLower,
  kHigher,
  kLowerTime,  // a share of the step: its time counts, since a share grows where the rest shrinks
};

/// A number that can be requested by name. docs/guides/adding-a-metric.md says how to add one.
struct Metric {
  std::string_view name;
  std::string_view meaning;    // one line, for `--list`
  std::string_view unit = {};  // empty: a plain number
  MetricResult (*compute)(const RunView& run) = nullptr;
  Better better = Better::kNeither;
  /// The data that the run must have, as `--list` shows it: words of kNeeds in the source, "card
  /// FIELD" or a kind of collective, separated by ", ". The first unmet one is the reason.
  std::string_view needs = "GPU activity";
  std::vector<MetricAlias> aliases = {};
};

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

[[nodiscard]] MetricResult Evaluate(const NamedMetric& named, const RunView& run);

/// Returns 100 · part / whole, or nothing when the whole is 0.
[[nodiscard]] std::optional<double> Percent(std::int64_t part, std::int64_t whole);

[[nodiscard]] double Seconds(std::int64_t nanoseconds);

[[nodiscard]] inline Value OrNull(std::optional<double> value) {
  return value ? Value(*value) : Value();
}

/// Returns an object with the "rank" and "device" of a device.
[[nodiscard]] Value DeviceRow(const DeviceView& device);

/// Returns the unweighted mean of `value_of` over the devices that have a value, with the values
/// in detail.per_rank: the aggregation of most metrics.
[[nodiscard]] MetricResult MeanOverDevices(
    const RunView& run, const std::function<std::optional<double>(const DeviceView&)>& value_of);

/// A time of a breakdown: a pointer to a member or a function.
using BreakdownTime = std::function<std::int64_t(const Breakdown&)>;

/// Returns the mean over devices of scale · part / whole of their selected steps.
[[nodiscard]] MetricResult MeanRatio(const RunView& run, const BreakdownTime& part,
                                     const BreakdownTime& whole, double scale = 1.0);

/// Returns the mean over devices of a time per step, in seconds.
[[nodiscard]] MetricResult MeanSecondsPerStep(const RunView& run, const BreakdownTime& time);

/// Sets detail.steps_used: how many steps were selected, or "none" where the recording has no
/// markers; and detail.ranks_used.
void NoteScope(const RunView& run, Value& detail);

}  // namespace orrery::analyze
