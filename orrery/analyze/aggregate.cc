#include "orrery/analyze/aggregate.h"

#include <cstddef>
#include <set>
#include <vector>

#include "orrery/analyze/reasons.h"
#include "orrery/base/statistics.h"

namespace orrery::analyze {

std::optional<double> Percent(std::int64_t part, std::int64_t whole) {
  if (whole == 0) {
    return std::nullopt;
  }
  return 100.0 * static_cast<double>(part) / static_cast<double>(whole);
}

std::optional<double> Ratio(std::int64_t part, std::int64_t whole) {
  if (whole == 0) {
    return std::nullopt;
  }
  return static_cast<double>(part) / static_cast<double>(whole);
}

double Seconds(std::int64_t nanoseconds) {
  return static_cast<double>(nanoseconds) / 1e9;
}

Value DeviceRow(const DeviceView& device) {
  Value row = Value::Object();
  row.Set("rank", static_cast<std::int64_t>(device.rank));
  row.Set("device", static_cast<std::int64_t>(device.device));
  return row;
}

MetricResult MeanOverDevices(
    const RunView& run, const std::function<std::optional<double>(const DeviceView&)>& value_of) {
  MetricResult result;
  std::vector<double> values;
  Value rows = Value::List();
  for (const DeviceView& device : run.devices) {
    const std::optional<double> value = value_of(device);
    rows.Add(DeviceRow(device).Set("value", value ? Value(*value) : Value()));
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
