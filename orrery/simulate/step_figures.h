#pragma once

#include <cstdint>

#include "orrery/simulate/engine.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

/// What a step in the steady state costs. Taken from the last repetition: the period is the
/// distance between the ends of the last two.
struct StepFigures {
  std::int64_t step_ps = 0;
  std::int64_t active_ps = 0;      // some stream is busy
  std::int64_t host_bound_ps = 0;  // no stream is busy, and the next task is not launched yet
  std::int64_t other_idle_ps = 0;  // no stream is busy for any other reason
  std::int64_t kernels = 0;

  /// The share of the step in which the GPU waits for the host.
  [[nodiscard]] double HostBoundShare() const {
    return step_ps == 0 ? 0.0 : static_cast<double>(host_bound_ps) / static_cast<double>(step_ps);
  }
};

/// Needs two repetitions for a period; with one the step is all there is.
[[nodiscard]] StepFigures FiguresOf(const workload::Program& program, const Timeline& timeline);

}  // namespace orrery::simulate
