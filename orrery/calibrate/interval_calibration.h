#pragma once

#include <span>
#include <string>

#include "orrery/simulate/explain/step_intervals.h"

namespace orrery::calibrate {

/// The error of a prediction whose fit had not seen the run's stack.
struct StepResidual {
  std::string stack;
  simulate::StepTraits traits = {};
  double log_ratio = 0;  // ln(measured / predicted)
};

/// Each end is a quantile of the residuals that is linear in the causes, each stack counting alike.
/// Both ends are then stretched until four of five residuals of a stack are inside that the
/// ends were fitted without, on the mean over stacks: a user's stack is none of these. Fewer than
/// three stacks tell too little: then they are the shipped ones.
[[nodiscard]] simulate::StepIntervals CalibrateIntervals(std::span<const StepResidual> residuals);

}  // namespace orrery::calibrate
