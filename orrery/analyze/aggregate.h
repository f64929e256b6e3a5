#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/value.h"

namespace orrery::analyze {

/// Returns 100 · part / whole, or nothing when the whole is 0.
[[nodiscard]] std::optional<double> Percent(std::int64_t part, std::int64_t whole);

/// Returns nanoseconds as seconds.
[[nodiscard]] double Seconds(std::int64_t nanoseconds);

/// Returns a missing value as null.
[[nodiscard]] inline Value OrNull(std::optional<double> value) {
  return value ? Value(*value) : Value();
}

/// Returns an object with the "rank" and "device" of a device.
[[nodiscard]] Value DeviceRow(const DeviceView& device);

/// Returns the unweighted mean of `value_of` over the devices that have a value, with the values in
/// detail.per_rank: the aggregation of most metrics.
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
