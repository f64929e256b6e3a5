#include "orrery/collective/protocol_costs.h"

#include <algorithm>
#include <cmath>

namespace orrery::collective {

ProtocolCosts CostsOf(Protocol protocol, const MachineConstants& constants) {
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

double LinkRate(const Fabric& fabric, double share) {
  return std::min(fabric.gpu_link.bytes_per_second * share, fabric.physical_link.bytes_per_second);
}

}  // namespace orrery::collective
