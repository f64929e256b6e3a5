#pragma once

#include <span>
#include <utility>

#include "orrery/network/routing.h"
#include "orrery/network/switch_graph.h"

namespace orrery::network {

/// A way from the sender to a switch and one from a switch to the target.
using WayUpAndDown = std::pair<const Attachment*, const Attachment*>;

/// Appends to `route` a flow that is split evenly over `ways`, and between their switches evenly
/// over the links that lead nearer, switch by switch. Adds the largest latency of the paths.
void SprayOver(const Topology& topology, SwitchGraph& graph, std::span<const WayUpAndDown> ways,
               Route& route);

}  // namespace orrery::network
