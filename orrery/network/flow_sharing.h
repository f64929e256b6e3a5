#pragma once

#include <cstdint>
#include <limits>
#include <span>
#include <vector>

#include "orrery/network/topology.h"

namespace orrery::network {

/// How much of a flow crosses a link: 1, less when the flow is split over equal paths, more when it
/// crosses again and again.
struct LinkUse {
  LinkId link = 0;
  double share = 1;
};

/// A flow as bandwidth sharing sees it. A class of `multiplicity` flows over the same links counts
/// as that many; rates are always those of one of them.
struct FlowDemand {
  std::span<const LinkUse> uses{};
  double weight = 1;  // shares at a bottleneck are in proportion to it
  double cap_bytes_per_second = std::numeric_limits<double>::infinity();  // NIC, protocol
  double multiplicity = 1;
};

/// Returns the weighted max-min fair rate of every flow in bytes per second: the smallest rate per
/// weight is as large as it can be, then the next …
///
/// Progressive filling: all rates per weight rise together until a link is full or a flow reaches
/// its cap; those flows are frozen and the rest goes on. The plain textbook form, O(links ·
/// rounds); FlowSimulation has the fast one and is tested against this. A flow without links and
/// cap is infinitely fast.
[[nodiscard]] std::vector<double> ShareFairly(std::span<const double> capacity_of_link,
                                              std::span<const FlowDemand> flows);

}  // namespace orrery::network
