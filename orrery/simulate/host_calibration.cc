#include "orrery/simulate/host_calibration.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "orrery/simulate/engine.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::simulate {
namespace {

// Enough for the host to run ahead of the GPU as far as it ever will.
constexpr int kRepetitions = 4;

constexpr double kLargestCostNs = 6'000;
constexpr double kCoarseNs = 500;
constexpr double kFineNs = 50;

Result<double> SquaredError(const workload::HostFit& fit, double cost_ns,
                            std::span<const MeasuredRecording> measured,
                            const std::vector<std::size_t>& without) {
  const workload::HostModel host =
      fit.Fit({.profiler_cost_ns = cost_ns, .without = without, .with_spread = false});
  double sum = 0;
  for (const MeasuredRecording& run : measured) {
    if (std::find(without.begin(), without.end(), run.number) == without.end()) {
      ORRERY_TRY(const StepFigures figures, ReplayRecording(*run.recording, host));
      const double predicted_s = static_cast<double>(figures.step_ps) * 1e-12;
      const double ratio = std::log(predicted_s / std::sqrt(run.least_s * run.most_s));
      sum += ratio * ratio;
    }
  }
  return sum;
}

/// The best of the values from `from_ns` to `to_ns`; the smaller one of equals.
template <typename ErrorOf>
Result<double> BestOf(double from_ns, double to_ns, double step_ns, const ErrorOf& error_of) {
  double best_ns = from_ns;
  double best = std::numeric_limits<double>::infinity();
  for (double cost_ns = from_ns; cost_ns <= to_ns; cost_ns += step_ns) {
    ORRERY_TRY(const double found, error_of(cost_ns));
    if (found < best) {
      best = found;
      best_ns = cost_ns;
    }
  }
  return best_ns;
}

}  // namespace

Result<StepFigures> ReplayRecording(const trace::Trace& recording,
                                    const workload::HostModel& host) {
  const std::vector<workload::CallTree> steps = workload::RecordedSteps(recording);
  const workload::RecordedProgram recorded =
      workload::ProgramOfRecording(recording, steps[steps.size() / 2], host);
  ORRERY_TRY(const Timeline timeline,
             SimulateSingleRank(recorded.program, {.repetitions = kRepetitions}));
  return FiguresOf(recorded.program, timeline);
}

Result<double> CalibrateProfilerCost(const workload::HostFit& fit,
                                     std::span<const MeasuredRecording> measured,
                                     const std::vector<std::size_t>& without) {
  const auto error_of = [&](double cost_ns) {
    return SquaredError(fit, cost_ns, measured, without);
  };
  ORRERY_TRY(const double coarse_ns, BestOf(0, kLargestCostNs, kCoarseNs, error_of));
  return BestOf(std::max(0.0, coarse_ns - kCoarseNs), coarse_ns + kCoarseNs, kFineNs, error_of);
}

}  // namespace orrery::simulate
