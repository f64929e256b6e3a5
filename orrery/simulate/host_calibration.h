#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/step_figures.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/host_fit.h"
#include "orrery/workload/recorded/host_model.h"

namespace orrery::simulate {

/// A recording whose step was also measured without the profiler.
struct MeasuredRecording {
  std::size_t number = 0;  // in the fit
  const trace::Trace* recording = nullptr;
  double least_s = 0;  // over the runs that were measured
  double most_s = 0;
};

/// Simulates the middle step of a recording with its own kernel times and the host of a model.
[[nodiscard]] Result<StepFigures> ReplayRecording(const trace::Trace& recording,
                                                  const workload::HostModel& host);

/// Finds what the profiler adds to an event, in nanoseconds: the value with which the recorded
/// steps come closest to the measured ones, by the sum of squared logarithms of their ratios.
/// Recordings in `without` are used neither for the model nor for the comparison.
[[nodiscard]] Result<double> CalibrateProfilerCost(const workload::HostFit& fit,
                                                   std::span<const MeasuredRecording> measured,
                                                   const std::vector<std::size_t>& without);

}  // namespace orrery::simulate
