#pragma once

#include "orrery/base/error.h"
#include "orrery/hardware/cluster.h"
#include "orrery/network/topology.h"

namespace orrery::collective {

/// Builds the first `nodes` nodes of a cluster and the switches that join them. Node i has GPUs
/// i * gpus_per_node and following; an island that spans nodes (NVL72) is always whole, so there
/// may be more GPUs than asked for.
///
/// What is simplified: NVLinks of an island are a star, whatever they are, so that each GPU's sum
/// is right and a pair of a mesh may use all of it; NICs beyond one for each GPU count as one of
/// their sum. What the catalogue does not know is the smallest that never blocks.
///
/// Fails with one sentence for more nodes than the cluster has or its switches can join.
[[nodiscard]] Result<network::Topology> TopologyOf(const hardware::Cluster& cluster, int nodes);

}  // namespace orrery::collective
