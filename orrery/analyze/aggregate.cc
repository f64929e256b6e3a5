#include "orrery/analyze/aggregate.h"

#include <cstddef>
#include <set>
#include <vector>

#include "orrery/analyze/collective_records.h"
#include "orrery/analyze/metric.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze {

namespace {

std::optional<double> ScaledRatio(std::int64_t part, std::int64_t whole, double scale) {
  if (whole == 0) {
    return std::nullopt;
  }
  return scale * static_cast<double>(part) / static_cast<double>(whole);
}

}  // namespace

std::optional<double> Percent(std::int64_t part, std::int64_t whole) {
  return ScaledRatio(part, whole, 100.0);
}

double Seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

Value DeviceRow(const DeviceView& device) {
  return Value::Object().Set("rank", device.rank).Set("device", device.device);
}

MetricResult MeanOverDevices(
    const RunView& run, const std::function<std::optional<double>(const DeviceView&)>& value_of) {
  MetricResult result;
  std::vector<double> values;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const std::optional<double> value = value_of(device);
    rows.Add(DeviceRow(device).Set("value", OrNull(value)));
    if (value) {
      values.push_back(*value);
    }
  }
  if (values.empty()) {
    return NotAvailable(kNoGpuReason);
  }
  result.value = Mean(values);
  NoteScope(run, result.detail);
  result.detail.Set("per_rank", std::move(rows));
  return result;
}

MetricResult MeanRatio(const RunView& run, const BreakdownTime& part, const BreakdownTime& whole,
                       double scale) {
  return MeanOverDevices(run, [&](const DeviceView& device) {
    return ScaledRatio(part(device.total), whole(device.total), scale);
  });
}

MetricResult MeanSecondsPerStep(const RunView& run, const BreakdownTime& time) {
  return MeanOverDevices(run, [&](const DeviceView& device) {
    return Seconds(time(device.total)) / static_cast<double>(NumSteps(device));
  });
}

void NoteScope(const RunView& run, Value& detail) {
  std::set<std::int32_t> ranks;
  std::size_t steps = 0;
  bool has_markers = false;
  for (const DeviceView& device : run.devices) {
    ranks.insert(device.rank);
    steps = std::max(steps, device.windows.size());
    for (const Window& window : device.windows) {
      has_markers |= window.step != kNoRow;
    }
  }
  detail.Set("ranks_used", ranks.size());
  detail.Set("steps_used", has_markers ? Value(steps) : Value("none"));
}

}  // namespace orrery::analyze
