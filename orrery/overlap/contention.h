#pragma once

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// When two kernels that were launched once each ran together, on the clock of the first launch.
struct OverlapTimeline {
  double compute_us = 0;        // how long the one that computes took
  double communication_us = 0;  // … the other
  double both_us = 0;           // how long both were there
};

/// How the slowdown and the delay simulation out when each kernel runs once: alone while it is alone, at
/// its slowed pace while both are there. `compute_us` is the time alone of the one that
/// computes.
[[nodiscard]] OverlapTimeline SimulateOverlap(double compute_us, const KernelOverlap& overlap_event, const Slowdown& slowdown,
                                 double delay_us);

}  // namespace orrery::overlap
