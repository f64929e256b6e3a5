#pragma once

#include <cstddef>
#include <optional>

#include "orrery/analyze/run_view.h"

namespace orrery::analyze::diff {

/// Where the time of a step goes on one device: means over devices and selected steps. The four
/// parts sum to `window_ns`.
struct StepParts {
  std::optional<double> marker_ns = {};  // the step as its marker on the host says
  double window_ns = 0;                  // the step on the device
  double compute_ns = 0;
  double exposed_communication_ns = 0;
  double exposed_memory_ns = 0;
  double idle_ns = 0;
  std::size_t num_ranks = 0;
  std::size_t num_steps = 0;  // 0: no markers; the whole recording stands for a step
};

[[nodiscard]] StepParts MeasureStepParts(const RunView& run);

}  // namespace orrery::analyze::diff
