#pragma once

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// Builds the first `nodes` nodes of a cluster and the switches that join them. Node i has GPUs
/// i * gpus_per_node and following; an island that spans nodes (NVL72) is always whole, so there
/// may be more GPUs than requested.
///
/// Simplifications: NVLinks of an island are always a star, so that the total of each GPU is
/// correct and a pair in a mesh may use all of it; several NICs per GPU are one with their total
/// bandwidth. Unknown fabric sizes are the smallest non-blocking ones.
///
/// Fails for more nodes than the cluster has or its switches can connect.
[[nodiscard]] Result<network::Topology> TopologyOf(const hardware::Cluster& cluster, int nodes);

}  // namespace orrery::collective
