#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/network/topology.h"

namespace orrery::network {

/// How much of a flow crosses a link: 1, less when the flow is split over equal paths, more when it
/// crosses repeatedly.
struct LinkUse {
  LinkId link = 0;
  double share = 1;
};

/// The demand of a flow in bandwidth sharing. A class of `multiplicity` flows over the same links
/// counts as that many; rates are always those of one of them.
struct FlowDemand {
  std::span<const LinkUse> uses{};
  double weight = 1;  // shares at a bottleneck are in proportion to it
  double cap_bytes_per_second = std::numeric_limits<double>::infinity();  // NIC, protocol
  double multiplicity = 1;
};

}  // namespace orrery::network
