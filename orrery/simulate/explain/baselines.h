#pragma once

#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Step times that anyone can check by hand, to compare the simulator with
/// (docs/validation/scoreboard.md). 0 for models other than transformers.
struct Baselines {
  double model_flops = 0;  // of a step, forward and backward, causal mask not discounted
  double peak_flops = 0;   // of all GPUs, in the type of the GEMMs
  double roofline_s = 0;   // executed work at the peak, or weights and states at full bandwidth
  double analytic_s = 0;   // closed forms for compute, memory, communication and bubble, added up
};

[[nodiscard]] Baselines BaselinesOf(const workload::Job& job);

}  // namespace orrery::simulate
