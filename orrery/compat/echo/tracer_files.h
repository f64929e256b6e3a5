#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"

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

/// The files of one job.
struct TracerFiles {
  std::vector<std::string> graphs;  // forward, backward, ddp
  std::vector<std::string> times;   // one file, or forward and backward
};

/// Finds them in a folder and its subfolders. Fails if some are missing or several jobs are found.
[[nodiscard]] Result<TracerFiles> FindTracerFiles(const std::string& folder);

}  // namespace orrery::compat::echo
