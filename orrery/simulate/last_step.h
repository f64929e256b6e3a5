#pragma once

#include "orrery/simulate/engine.h"

namespace orrery::simulate {

/// Returns the last repetition alone, timed from the end of the one before, as step times are
/// measured: hosts that run ahead begin before 0. The end is then the time from step to step.
[[nodiscard]] Timeline LastStep(Timeline timeline);

}  // namespace orrery::simulate
