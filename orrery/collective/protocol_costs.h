#pragma once

#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_constants.h"

namespace orrery::collective {

/// What a protocol costs on a machine: times in microseconds, bandwidths as shares of what NCCL
/// counts.
struct ProtocolCosts {
  double start = 0;
  double hop = 0;
  double network_hop = 0;
  double link_share = 1;
  double network_share = 1;
  double sharpness = 1;
};

[[nodiscard]] ProtocolCosts CostsOf(Protocol protocol, const MachineConstants& constants);

/// Bytes per second of a GPU's links at a share of what NCCL counts; no more than they have.
[[nodiscard]] double LinkRate(const Fabric& fabric, double share);

}  // namespace orrery::collective
