#pragma once

#include <optional>

#include "orrery/overlap/pair_table.h"

namespace orrery::overlap {

/// When two kernels that were launched once each ran together, on the clock of the first launch.
struct Course {
  double compute_us = 0;        // how long the one that computes took
  double communication_us = 0;  // … the other
  double both_us = 0;           // how long both were there
};

/// How the stretch and the delay play out when each kernel runs once: alone while it is alone, at
/// its stretched pace while both are there. Times alone are those of the pair.
[[nodiscard]] Course PlayPair(const MeasuredPair& pair, const Stretch& stretch, double delay_us);

/// The stretch while both were there that explains what a pair showed, and the share of the compute
/// kernel's time for which both were there: the less, the less it says.
struct ShownStretch {
  double stretch = 1;
  double share = 1;
};

/// The work that the kernel did in the time both were there is what was missing from its time
/// alone. Nothing where both were never there together.
[[nodiscard]] std::optional<ShownStretch> StretchShown(const MeasuredPair& pair);

}  // namespace orrery::overlap
