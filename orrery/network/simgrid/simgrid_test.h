#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/network/topology.h"

/// The same flows through SimGrid, for tests and benchmarks only.
namespace orrery::network::simgrid {

/// A flow over links in order; hosts tell SimGrid between which routes are.
struct Flow {
  std::uint32_t from_host = 0;
  std::uint32_t to_host = 0;
  std::vector<LinkId> path{};
  std::uint64_t bytes = 0;
  double start_seconds = 0;
};

struct Run {
  std::vector<double> end_seconds;  // by flow
  double cpu_seconds = 0;           // of one round, without building the platform
};

/// Returns true if this program was built with SimGrid.
[[nodiscard]] bool IsInstalled();

/// Runs plain max-min sharing without TCP's windows or latencies. SimGrid can run once in a
/// process, so this happens in a child. Two flows between the same hosts must have the same path.
/// With several rounds all flows are sent again when the last has ended, so that memory is warm;
/// the ends are those of the first round.
[[nodiscard]] Result<Run> Simulate(std::span<const double> capacity_of_link,
                                   std::span<const Flow> flows, std::uint32_t num_hosts,
                                   int rounds = 1);

}  // namespace orrery::network::simgrid
