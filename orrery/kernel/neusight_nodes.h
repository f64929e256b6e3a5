#pragma once

#include <cstddef>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/kernel/measured_layouts.h"

namespace orrery::kernel {

/// Reads a node of the graphs that NeuSight timed call by call (fp32, eager): the matrix
/// multiplications of inference runs. Other calls have their own tables, and views run no kernel:
/// no row. Nodes of training runs are skipped, because those runs evaluate the simulator.
[[nodiscard]] Result<std::vector<LayoutRow>> ReadNeuSightNode(const Table& table, std::size_t row);

}  // namespace orrery::kernel
