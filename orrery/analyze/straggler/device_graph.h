#pragma once

#include <cstdint>

#include "orrery/analyze/graph/dependency_graph.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze {

/// The graph of the devices alone: nothing waits for the host, and all ranks begin with the step.
struct DeviceGraph {
  DependencyGraph graph;
  std::int64_t measured_ns = 0;   // from the first start to the last end on any device
  std::int64_t num_inferred = 0;  // waits between streams that were not recorded
};

/// Makes it of the graph of a step. Where the recording does not say which stream waited for which,
/// a kernel is taken to wait for what ended last on its rank before it began.
[[nodiscard]] DeviceGraph DevicesOf(const RunView& run, const DependencyGraph& whole);

}  // namespace orrery::analyze
