#pragma once

#include <cstddef>
#include <cstdint>

#include "orrery/analyze/run_view.h"
#include "orrery/trace/tables.h"

namespace orrery::analyze {

/// Calls `visit(row)` for each activity of a device that begins in a selected window, in order of
/// time.
template <typename Visit>
void ForEachSelected(const RunView& run, const DeviceView& device, Visit&& visit) {
  const trace::Activities& activities = run.TraceOf(device).activities;
  std::size_t window = 0;
  for (const RowId row : device.activities) {
    const std::int64_t begin_ns = activities.begin_ns[row];
    while (window < device.windows.size() && device.windows[window].time.end_ns <= begin_ns) {
      ++window;
    }
    if (window < device.windows.size() && device.windows[window].time.begin_ns <= begin_ns) {
      visit(row);
    }
  }
}

}  // namespace orrery::analyze
