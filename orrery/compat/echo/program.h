#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/program.h"

/// Files of Echo's workload tracer: graphs and operator times (docs/formats/echo.md).

namespace orrery::compat::echo {

struct GraphNode {
  std::string name;
  std::string op = {};
  std::vector<std::string> inputs = {};  // names of nodes
  std::int64_t bucket_elements = -1;     // of an all-reduce of gradients

  bool operator==(const GraphNode&) const = default;
};

/// Milliseconds by the name of a node, and of "optimizer_step".
using OperatorTimes = std::map<std::string, double, std::less<>>;

[[nodiscard]] Result<std::vector<GraphNode>> ParseGraph(std::string_view json);
[[nodiscard]] Result<OperatorTimes> ParseTimes(std::string_view json);

/// Read the graphs or times of one job, compressed or not: forward, backward and optionally ddp,
/// whose nodes are also in the backward graph. Of equal names the first counts.
[[nodiscard]] Result<std::vector<GraphNode>> ReadGraphs(std::span<const std::string> paths);
[[nodiscard]] Result<OperatorTimes> ReadTimes(std::span<const std::string> paths);

struct TracerFiles {
  std::vector<std::string> graphs;  // forward, backward, ddp
  std::vector<std::string> times;   // one file, or forward and backward
};

/// Finds them in a folder and its subfolders. Fails if some are missing or several jobs are found.
[[nodiscard]] Result<TracerFiles> FindTracerFiles(const std::string& folder);

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
