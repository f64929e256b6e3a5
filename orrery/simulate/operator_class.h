#pragma once

#include "orrery/kernel/operator.h"
#include "orrery/trace/kernel_class.h"

namespace orrery::simulate {

/// The class that recorded kernels of an operator have, so that a simulated step and a recorded one
/// line up.
[[nodiscard]] trace::KernelClass ClassOf(kernel::OperatorKind kind);

}  // namespace orrery::simulate
