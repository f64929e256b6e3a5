#pragma once

#include <cstddef>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/table.h"
#include "orrery/kernel/measured_layouts.h"

namespace orrery::kernel {

/// Reads a node of the graphs that NeuSight timed call by call (fp32, eager): the matrix products
/// of inference runs. Other calls have tables of their own, and views run no kernel: no row. Nodes
/// of training runs give no row either, since the whole runs that they belong to evaluate the
/// simulator.
[[nodiscard]] Result<std::vector<LayoutRow>> ReadNeuSightNode(const Table& table, std::size_t row);

}  // namespace orrery::kernel
