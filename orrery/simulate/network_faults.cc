#include "orrery/simulate/network_faults.h"

#include <algorithm>
#include <cstddef>
#include <set>
#include <string>
#include <utility>

#include <fmt/core.h>

namespace orrery::simulate {
namespace {

tl::unexpected<Error> Refuse(std::string message) {
  return Fail(Error::Kind::kInvalidInput, std::move(message));
}

std::uint32_t NumNodes(const workload::Job& machine) {
  const int size = std::max(machine.cluster.gpus_per_node, 1);
  return static_cast<std::uint32_t>((machine.gpus + size - 1) / size);
}

Status CheckNode(const workload::Job& machine, std::uint32_t node) {
  const std::uint32_t nodes = NumNodes(machine);
  if (machine.cluster.nics.per_node < 1) {
    return Refuse(fmt::format("{} has no NICs that could fail", machine.cluster.name));
  }
  if (node >= nodes) {
    return Refuse(
        fmt::format("there is no node {}; the job has {} node{} of {} GPUs, counted from 0", node,
                    nodes, nodes == 1 ? "" : "s", machine.cluster.gpus_per_node));
  }
  return {};
}

Status CheckNic(const workload::Job& machine, const FailedNic& failed) {
  ORRERY_TRY_STATUS(CheckNode(machine, failed.node));
  const int nics = machine.cluster.nics.per_node;
  if (failed.nic >= static_cast<std::uint32_t>(nics)) {
    return Refuse(fmt::format("there is no NIC {}; a node of {} has {}, counted from 0", failed.nic,
                              machine.cluster.name, nics));
  }
  return {};
}

}  // namespace

Result<std::vector<double>> NetworkShares(const workload::Job& machine,
                                          const NetworkFaults& faults) {
  std::vector<int> working(NumNodes(machine), machine.cluster.nics.per_node);
  for (const FailedNic& failed : std::set(faults.failed_nics.begin(), faults.failed_nics.end())) {
    ORRERY_TRY_STATUS(CheckNic(machine, failed));
    --working[failed.node];
  }
  std::vector<double> shares;
  for (const int nics : working) {
    shares.push_back(static_cast<double>(nics) / std::max(machine.cluster.nics.per_node, 1));
  }
  for (const SlowNode& slow : faults.slow_nodes) {
    ORRERY_TRY_STATUS(CheckNode(machine, slow.node));
    shares[slow.node] *= slow.share;
  }
  return shares;
}

}  // namespace orrery::simulate
