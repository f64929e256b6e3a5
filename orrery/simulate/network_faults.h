#pragma once

#include <cstdint>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// A NIC that carries nothing. Nodes and their NICs count from 0.
struct FailedNic {
  std::uint32_t node = 0;
  std::uint32_t nic = 0;

  auto operator<=>(const FailedNic&) const = default;
};

/// A node whose NICs carry a share of what they should.
struct SlowNode {
  std::uint32_t node = 0;
  double share = 1;
};

/// What is wrong with the network of a job.
struct NetworkFaults {
  std::vector<FailedNic> failed_nics = {};
  std::vector<SlowNode> slow_nodes = {};

  [[nodiscard]] bool empty() const { return failed_nics.empty() && slow_nodes.empty(); }
};

/// What each node has left of its network, as a share: of its NICs those that work, of what they
/// carry what they still do. Fails for nodes and NICs that do not exist.
[[nodiscard]] Result<std::vector<double>> NetworkShares(const workload::Job& machine,
                                                        const NetworkFaults& faults);

}  // namespace orrery::simulate
