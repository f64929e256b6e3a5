#pragma once

#include "orrery/base/units.h"
#include "orrery/collective/algorithm.h"
#include "orrery/collective/fabric.h"
#include "orrery/collective/machine_constants.h"

namespace orrery::collective {

/// A chosen algorithm and protocol.
struct AlgorithmAndProtocol {
  Algorithm algorithm = Algorithm::kRing;
  Protocol protocol = Protocol::kSimple;

  bool operator==(const AlgorithmAndProtocol&) const = default;
};

/// The constants of an algorithm and protocol on a machine: times in microseconds, bandwidths as
/// shares of NCCL's.
struct AlgorithmCosts {
  double start = 0;
  double hop = 0;          // inside a node
  double network_hop = 0;  // between nodes
  double link_share = 1;
  double network_share = 1;
  double sharpness = 1;  // exponent that combines latency and transfer
};

[[nodiscard]] AlgorithmCosts CostsOf(const AlgorithmAndProtocol& candidate, Bytes size,
                                     const MachineConstants& constants);

/// Whether the NVSwitch reduces.
[[nodiscard]] bool ReducesInSwitch(Algorithm algorithm);

/// Bytes per second of a GPU's links at a share of NCCL's value, limited to their bandwidth. GPUs
/// on PCIe share bridges and the link between CPUs.
[[nodiscard]] double LinkRate(const Fabric& fabric, double share,
                              const MachineConstants& constants);

/// Combines latency and transfer: (latency^s + transfer^s)^(1/s).
[[nodiscard]] double JoinTimes(double latency, double transfer, double sharpness);

}  // namespace orrery::collective
