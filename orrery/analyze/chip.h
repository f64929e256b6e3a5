#pragma once

#include "orrery/analyze/run_view.h"
#include "orrery/hardware/gpu.h"

namespace orrery::analyze {

/// Returns the accelerator of a run as the catalogue has it: the one that the card names, else the
/// one that the profiler saw; nothing when the catalogue does not know it.
[[nodiscard]] const hardware::Gpu* ChipOf(const RunView& run);

}  // namespace orrery::analyze
