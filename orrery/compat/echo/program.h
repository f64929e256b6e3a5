#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/compat/echo/tracer_files.h"
#include "orrery/workload/program.h"

namespace orrery::compat::echo {

struct TracedProgram {
  workload::Program program;
  std::int64_t num_nodes = 0;
  std::int64_t num_buckets = 0;
  std::vector<std::string> nodes_without_time;  // taken as 0
  std::vector<std::string> times_without_node;  // ignored
  std::vector<std::string> inputs_without_node;
};

/// Makes the program of one rank: operators in topological order on a compute stream; all-reduces
/// of gradients (role "dp", 4 bytes per element) on a separate stream after the operators that fill
/// their bucket; the optimizer last. Fails for cyclic graphs.
[[nodiscard]] Result<TracedProgram> MakeProgram(std::span<const GraphNode> graph,
                                                const OperatorTimes& times);

}  // namespace orrery::compat::echo
