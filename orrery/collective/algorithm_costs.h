#pragma once

#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_constants.h"

namespace orrery::collective {

/// A candidate that was chosen: its time is asked for many sizes of constants while they are fitted.
struct AlgorithmAndProtocol {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;

  bool operator==(const AlgorithmAndProtocol&) const = default;
};

/// What a candidate costs on a machine: times in microseconds, bandwidths as shares of what NCCL counts.
struct AlgorithmCosts {
  double start = 0;
  double hop = 0;          // inside a node
  double network_hop = 0;  // between nodes
  double link_share = 1;
  double network_share = 1;
  double sharpness = 1;  // how latency and transfer join
};

[[nodiscard]] AlgorithmCosts CostsOf(const AlgorithmAndProtocol& candidate, Bytes size, const MachineConstants& constants);

/// Says whether the NVSwitch reduces.
[[nodiscard]] bool ReducesInSwitch(Algorithm algorithm);

/// Bytes per second of a GPU's links at a share of what NCCL counts; no more than they have. GPUs
/// on PCIe share bridges and the candidate between CPUs.
[[nodiscard]] double LinkRate(const Fabric& fabric, double share,
                              const MachineConstants& constants);

/// Latency and transfer as one time: (latency^s + transfer^s)^(1/s).
[[nodiscard]] double JoinTimes(double latency, double transfer, double sharpness);

}  // namespace orrery::collective
