#pragma once

#include <span>
#include <string>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/calibrate/recorded_steps.h"
#include "orrery/simulate/goodput/step_jitter.h"

namespace orrery::calibrate {

/// Fits one model to all groups; every group counts alike. Fails without any.
///
/// Width of the body: the distance of the 16th percentile from the median, which stalls do not
/// change, of records and of means of 2 to 16 of them. Stalls: records more than five widths above
/// the median; what a stall is longer than that has a generalised Pareto distribution again, whose
/// constants are those of highest likelihood. A group counts as at most 40 stalls, so that one
/// system with a periodic stall does not set their rate.
[[nodiscard]] Result<simulate::JitterModel> FitJitter(std::span<const RecordedSteps> groups);

/// Recorded steps beside those of models that were not fitted to them.
struct JudgedSteps {
  RecordedSteps recorded;
  double distance = 0;         // Kolmogorov–Smirnov, without the submitter
  double system_distance = 0;  // the same without the system only
  double step_sigma = 0;       // of one step: the measured width, with the model's law of windows
  // Of records, relative to the median, measured and predicted without the submitter.
  double measured_sigma = 0;
  double predicted_sigma = 0;
  double measured_p95 = 0;
  double predicted_p95 = 0;
  double measured_p99 = 0;
  double predicted_p99 = 0;
};

/// Evaluates every group with the model fitted to other submitters, and to other systems. Fails
/// with one submitter only.
[[nodiscard]] Result<std::vector<JudgedSteps>> JudgeJitter(std::span<const RecordedSteps> groups);

}  // namespace orrery::calibrate
