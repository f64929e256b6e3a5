#pragma once

#include <span>

#include "orrery/hardware/gpu.h"
#include "orrery/kernel/measured/measurement.h"
#include "orrery/kernel/power.h"

namespace orrery::calibrate {

/// A row that was measured sustained, and the time of its burst by the kernel models.
struct SustainedRow {
  kernel::Measurement measured;
  double burst_seconds = 0;
};

/// Fits the watts of one GPU to its sustained rows.
[[nodiscard]] kernel::BoardPower FitPower(std::span<const SustainedRow> rows,
                                          const hardware::Gpu& gpu);

}  // namespace orrery::calibrate
