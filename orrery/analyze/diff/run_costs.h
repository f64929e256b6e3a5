#pragma once

#include <vector>

#include "orrery/analyze/diff/cost_change.h"
#include "orrery/analyze/run_view.h"

namespace orrery::analyze::diff {

// What the chosen devices did in the selected steps, added up by name; see Cost for the unit.

/// Kernels by name, each with its class. Times are clipped to the windows of the steps.
[[nodiscard]] std::vector<NamedCost> KernelCosts(const RunView& run);

/// Kernels by class ("gemm", …), so that a kernel that changed its name does not hide what its work
/// costs.
[[nodiscard]] std::vector<NamedCost> KernelClassCosts(const std::vector<NamedCost>& kernels);

/// Operators of the framework by name. The device time is that of the work that the operator itself
/// launched, not of operators inside it; host and device times therefore add up over names.
[[nodiscard]] std::vector<NamedCost> OperatorCosts(const RunView& run);

/// Collectives that ran on a device, by kind ("all_reduce", …). Calls that one kernel serves count
/// once; their bytes add up.
[[nodiscard]] std::vector<NamedCost> CollectiveCosts(const RunView& run);

/// Copies by kind ("HtoD", …), and "set".
[[nodiscard]] std::vector<NamedCost> CopyCosts(const RunView& run);

/// How many steps the devices of the run did together, at least 1.
[[nodiscard]] double NumDeviceSteps(const RunView& run);

}  // namespace orrery::analyze::diff
