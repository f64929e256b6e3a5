#pragma once

#include <cstddef>
#include <vector>

namespace orrery::workload {

/// Returns the nodes of a graph, inputs before what needs them, and of those that could be next the
/// lowest. `inputs` are the nodes that a node needs. Shorter than `inputs` when some wait for each
/// other in a circle: those and what needs them are missing.
[[nodiscard]] std::vector<std::size_t> InputsFirst(
    const std::vector<std::vector<std::size_t>>& inputs);

/// Returns the first node that such an order lacks.
[[nodiscard]] std::size_t FirstMissing(const std::vector<std::size_t>& order,
                                       std::size_t num_nodes);

}  // namespace orrery::workload
