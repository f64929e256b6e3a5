#pragma once

#include <cstdint>
#include <functional>
#include <optional>

#include "orrery/analyze/metric.h"
#include "orrery/analyze/run_view.h"
#include "orrery/base/value.h"

namespace orrery::analyze {

/// Returns 100 · part / whole, or nothing when the whole is empty.
[[nodiscard]] std::optional<double> Percent(std::int64_t part, std::int64_t whole);

/// Returns part / whole, or nothing when the whole is empty.
[[nodiscard]] std::optional<double> Ratio(std::int64_t part, std::int64_t whole);

/// Returns nanoseconds as seconds.
[[nodiscard]] double Seconds(std::int64_t nanoseconds);

/// Returns an object that names the device: "rank", and "device" where a rank has several.
[[nodiscard]] Value DeviceRow(const DeviceView& device);

/// The aggregation of most metrics: `value_of` a device, then the unweighted mean over the devices
/// that have a value. The values go into detail.per_rank.
[[nodiscard]] MetricResult MeanOverDevices(
    const RunView& run, const std::function<std::optional<double>(const DeviceView&)>& value_of);

/// Sets detail.steps_used: how many steps were selected, or "none" where the recording has no
/// markers; and detail.ranks_used.
void NoteScope(const RunView& run, Value& detail);

}  // namespace orrery::analyze
