#include "orrery/analyze/diff/step_parts.h"

#include <algorithm>

#include "orrery/analyze/diff/run_costs.h"
#include "orrery/analyze/step_time.h"

namespace orrery::analyze::diff {

StepParts MeasureStepParts(const RunView& run) {
  Breakdown total;
  for (const DeviceView& device : run.devices) {
    total += device.total;
  }
  const double num_steps = NumDeviceSteps(run);
  const auto per_step = [&](std::int64_t ns) { return static_cast<double>(ns) / num_steps; };
  StepParts parts{.window_ns = per_step(total.window_ns),
                  .compute_ns = per_step(total.compute_ns),
                  .exposed_communication_ns = per_step(total.exposed_communication_ns),
                  .exposed_memory_ns = per_step(total.exposed_memory_ns),
                  .idle_ns = per_step(total.idle_ns),
                  .num_ranks = ChosenRanks(run).size()};
  const StepTime time = MeasureStepTime(run);
  for (const RankSteps& rank : time.ranks) {
    parts.num_steps = std::max(parts.num_steps, rank.seconds.size());
  }
  if (time.seconds && !time.is_estimated) {
    parts.marker_ns = *time.seconds * 1e9;
  }
  return parts;
}

}  // namespace orrery::analyze::diff
