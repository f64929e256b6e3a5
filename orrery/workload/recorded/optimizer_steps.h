#pragma once

#include <cstdint>
#include <vector>

#include "orrery/trace/trace.h"

namespace orrery::workload {

/// The ids of the calls of an optimizer that end the steps of an execution trace without
/// ProfilerStep# markers, in order; less than two: it is one step.
///
/// How many calls make a step is what a profile in the same trace says. Without one, calls are as
/// many steps as the greatest number that divides the calls of each optimizer: a step of two
/// optimizers, one of them called twice, is one step.
[[nodiscard]] std::vector<std::int64_t> OptimizerStepEnds(const trace::Trace& graph);

}  // namespace orrery::workload
