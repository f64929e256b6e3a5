#include "orrery/collective/algorithm_costs.h"

#include <algorithm>
#include <cmath>

namespace orrery::collective {

namespace {

AlgorithmCosts ProtocolCosts(Protocol protocol, const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& shape = CommonShape();
  const double start = constants[kStart];
  const double simple_start = constants[kSimpleStart];
  switch (protocol) {
    case Protocol::kLl:
      return {start,
              constants[kLlHop],
              constants[kLlNetworkHop],
              constants[kLlLinkShare],
              constants[kNetworkShare] * shape.ll_network,
              shape.ll_sharpness};
    case Protocol::kLl128:
      return {start * std::pow(simple_start / start, shape.ll128_start),
              std::sqrt(constants[kLlHop] * constants[kSimpleHop]),
              constants[kLlNetworkHop] * shape.ll128_network_hop,
              constants[kLinkShare] * shape.ll128_link,
              constants[kNetworkShare] * shape.ll128_network,
              shape.ll128_sharpness};
    case Protocol::kSimple:
      break;
  }
  return {simple_start,          constants[kSimpleHop],    constants[kSimpleNetworkHop],
          constants[kLinkShare], constants[kNetworkShare], constants[kSharpness]};
}

AlgorithmCosts SwitchCosts(const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& shape = CommonShape();
  return {.start = (constants[kStart] + constants[kSimpleStart]) * shape.nvls_start,
          .network_hop = constants[kSimpleNetworkHop],
          .link_share = constants[kNvlsShare],
          .network_share = constants[kNetworkShare],
          .sharpness = shape.nvls_sharpness};
}

AlgorithmCosts DirectCosts(Bytes size, const MachineConstants& constants) {
  using enum Constant;
  const ClosedFormShape& shape = CommonShape();
  const auto bytes = static_cast<double>(size.count);
  const double reached = std::min(1.0, std::sqrt(bytes / shape.direct_start_bytes));
  return {.start = constants[kStart] + shape.direct_start * constants[kSimpleStart] * reached,
          .network_hop = constants[kLlNetworkHop],
          .link_share = constants[kLinkShare] * constants[kDirectShare],
          .network_share = constants[kNetworkShare],
          .sharpness = shape.direct_sharpness};
}

}  // namespace

AlgorithmCosts CostsOf(const AlgorithmAndProtocol& candidate, Bytes size,
                       const MachineConstants& constants) {
  if (ReducesInSwitch(candidate.algorithm)) {
    return SwitchCosts(constants);
  }
  if (candidate.algorithm == Algorithm::kDirect) {
    return DirectCosts(size, constants);
  }
  AlgorithmCosts costs = ProtocolCosts(candidate.protocol, constants);
  if (candidate.algorithm == Algorithm::kRing && candidate.protocol != Protocol::kSimple) {
    costs.network_hop *= CommonShape().ring_network_hop;
  }
  return costs;
}

bool ReducesInSwitch(Algorithm algorithm) {
  return algorithm == Algorithm::kNvls || algorithm == Algorithm::kNvlsTree ||
         algorithm == Algorithm::kCollnetDirect;
}

double LinkRate(const Fabric& fabric, double share, const MachineConstants& constants) {
  const double rate =
      std::min(fabric.gpu_link.bytes_per_second * share, fabric.physical_link.bytes_per_second);
  const bool is_crowded = fabric.intra == IntraLink::kPcie && fabric.ranks_per_node > 2;
  return is_crowded ? rate / std::pow(fabric.ranks_per_node / 2.0, constants[Constant::kCrowding])
                    : rate;
}

double JoinTimes(double latency, double transfer, double sharpness) {
  const double larger = std::max(latency, transfer);
  if (larger <= 0) {
    return 0;
  }
  // Of the larger part, so that no power overflows.
  const double smaller = std::min(latency, transfer) / larger;
  return larger * std::pow(1 + std::pow(smaller, sharpness), 1 / sharpness);
}

}  // namespace orrery::collective
