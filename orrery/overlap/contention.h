#pragma once

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// The durations of two overlapping kernels that are launched once each.
struct OverlapTimeline {
  double compute_us = 0;        // duration of the compute kernel
  double communication_us = 0;  // … of the communication kernel
  double both_us = 0;           // while both ran
};

/// Simulates two kernels that run once each: at full speed while alone, slowed down while both run.
/// `compute_us` is the time alone of the compute kernel.
[[nodiscard]] OverlapTimeline SimulateOverlap(double compute_us, const KernelOverlap& overlap,
                                              const Slowdown& slowdown, double delay_us);

}  // namespace orrery::overlap
