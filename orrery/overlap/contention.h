#pragma once

#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// When two kernels that were launched once each ran together, on the clock of the first launch.
struct Course {
  double compute_us = 0;        // how long the one that computes took
  double communication_us = 0;  // … the other
  double both_us = 0;           // how long both were there
};

/// How the stretch and the delay play out when each kernel runs once: alone while it is alone, at
/// its stretched pace while both are there. `compute_us` is the time alone of the one that
/// computes.
[[nodiscard]] Course PlayMeeting(double compute_us, const Meeting& meeting, const Stretch& stretch,
                                 double delay_us);

}  // namespace orrery::overlap
