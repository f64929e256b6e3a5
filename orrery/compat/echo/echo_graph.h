#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/ensemble.h"
#include "orrery/workload/program.h"

/// Graphs and times of operators as Echo's workload tracer writes them (docs/formats/echo.md).
namespace orrery::compat::echo {

using workload::Ensemble;
using workload::Program;
using workload::Rank;

struct EchoNode {
  std::string name;
  std::string op = {};
  std::vector<std::string> inputs = {};  // names of nodes
  std::int64_t bucket_elements = -1;     // of an all-reduce of gradients

  bool operator==(const EchoNode&) const = default;
};

/// Milliseconds by the name of a node, and of "optimizer_step".
using EchoTimes = std::map<std::string, double, std::less<>>;

[[nodiscard]] Result<std::vector<EchoNode>> ParseEchoGraph(std::string_view json);
[[nodiscard]] Result<EchoTimes> ParseEchoTimes(std::string_view json);

/// Read files, packed or not, that belong together: forward, backward and, if one likes, ddp, whose
/// nodes the backward graph has too. Of equal names the first counts.
[[nodiscard]] Result<std::vector<EchoNode>> ReadEchoGraph(std::span<const std::string> paths);
[[nodiscard]] Result<EchoTimes> ReadEchoTimes(std::span<const std::string> paths);

struct EchoProgram {
  Program program;
  std::int64_t num_nodes = 0;
  std::int64_t num_buckets = 0;
  std::vector<std::string> nodes_without_time;  // they take none
  std::vector<std::string> times_without_node;  // they are left out
  std::vector<std::string> inputs_without_node;
};

/// Makes a program of one rank: operators one after the other on a compute stream, those that come
/// first in the graph first; all-reduces of gradients (role "dp", 4 bytes an element) on a stream
/// of their own, behind what fills their bucket; the optimizer behind all of it. Fails for graphs
/// that go in a circle.
[[nodiscard]] Result<EchoProgram> ProgramOfEcho(std::span<const EchoNode> graph,
                                                const EchoTimes& times);

/// All ranks of a data-parallel job: each runs the program, and all reduce together.
[[nodiscard]] Ensemble EnsembleOfEcho(Program program, Rank num_ranks);

}  // namespace orrery::compat::echo
