#include "orrery/compat/ccl_bench/launch_geometry.h"

#include "orrery/analyze/json_fields.h"
#include "orrery/trace/tables.h"

namespace orrery::compat::ccl_bench {

using analyze::JsonNumber;

using trace::Trace;

std::vector<std::optional<double>> RecordedBlocksPerSm(const Trace& trace) {
  std::vector<std::optional<double>> blocks;
  for (const StringId extra : trace.launch_shapes.extra) {
    blocks.push_back(JsonNumber(trace.Text(extra), "blocks per SM"));
  }
  return blocks;
}

std::optional<double> BlocksOf(const Trace& trace, RowId activity) {
  const RowId shape = trace.activities.shape[activity];
  if (shape == kNoRow || trace.launch_shapes.grid_x[shape] < 0) {
    return std::nullopt;
  }
  return static_cast<double>(trace.launch_shapes.grid_x[shape]) *
         static_cast<double>(trace.launch_shapes.grid_y[shape]) *
         static_cast<double>(trace.launch_shapes.grid_z[shape]);
}

std::optional<double> FirstDeviceMultiprocessors(const CompatRun& run) {
  for (const Trace& trace : run.set->ranks) {
    for (const std::int32_t multiprocessors : trace.devices.multiprocessors) {
      if (multiprocessors > 0) {
        return multiprocessors;
      }
    }
  }
  return std::nullopt;
}

}  // namespace orrery::compat::ccl_bench
