#include "orrery/calibrate/replay_calibration.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/base/math/statistics.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/simulate/replay.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/ranks/traced_job.h"
#include "orrery/workload/recorded/recorded.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::calibrate {
namespace {

using simulate::EndOfLanes;
using simulate::kReplayRepetitions;
using simulate::SimulateRecording;
using simulate::Timeline;
using workload::HostModel;
using workload::LaneKind;
using workload::Program;

constexpr double kLargestCostNs = 20'000;
constexpr double kPrecisionNs = 10;

// A time that the largest cost changes by less than this says nothing about costs.
constexpr double kLeastChange = 0.05;

HostModel HostOf(const trace::Trace& recording, double profiler_cost_ns) {
  workload::HostFit fit;
  fit.Add(recording);
  return fit.Fit({.profiler_costs_ns = {profiler_cost_ns}, .with_spread = false});
}

/// Replays the middle step with any cost of the profiler.
class Replayer {
 public:
  Replayer(const trace::Trace& recording, const HostModel& host)
      : recording_(recording),
        host_(host),
        steps_(workload::RecordedSteps(recording)),
        which_(steps_.size() / 2),
        recorded_(recording, steps_, which_) {}

  [[nodiscard]] Result<double> IssueMs(double profiler_cost_ns) const {
    const Program program = ProgramWithout(profiler_cost_ns);
    ORRERY_TRY(const Timeline timeline, SimulateRecording(program, 1));
    return static_cast<double>(EndOfLanes(program, timeline, 0, LaneKind::kHostThread)) * 1e-9;
  }

  [[nodiscard]] Result<double> StepMs(double profiler_cost_ns) const {
    const Program program = ProgramWithout(profiler_cost_ns);
    ORRERY_TRY(const Timeline timeline, SimulateRecording(program, kReplayRepetitions));
    return static_cast<double>(FiguresOf(program, timeline).step_ps) * 1e-9;
  }

 private:
  [[nodiscard]] Program ProgramWithout(double profiler_cost_ns) const {
    const workload::StepCosts costs = recorded_.Without(profiler_cost_ns);
    return workload::ProgramOfRecording(recording_, steps_[which_], host_, {}, &costs).program;
  }

  const trace::Trace& recording_;
  const HostModel& host_;
  std::vector<workload::CallTree> steps_;
  std::size_t which_;
  workload::RecordedHost recorded_;
};

using TimeOfCost = std::function<Result<double>(double profiler_cost_ns)>;

/// Finds the cost with which a time is the measured one. The time falls while the cost rises.
Result<double> CostOf(const TimeOfCost& time_ms, double measured_ms) {
  double low_ns = 0;
  double high_ns = kLargestCostNs;
  while (high_ns - low_ns > kPrecisionNs) {
    const double middle_ns = (low_ns + high_ns) / 2;
    ORRERY_TRY(const double found_ms, time_ms(middle_ns));
    (found_ms > measured_ms ? low_ns : high_ns) = middle_ns;
  }
  return low_ns;
}

/// Fits the cost to one measured time, unless the time does not depend on it. Says whether it did.
Result<bool> FitTo(const TimeOfCost& time_ms, std::span<const double> measured,
                   ProfilerCostSource source, ReplayCalibration& calibration) {
  if (measured.empty()) {
    return false;
  }
  ORRERY_TRY(const double most_ms, time_ms(0));
  ORRERY_TRY(const double least_ms, time_ms(kLargestCostNs));
  if (most_ms - least_ms < kLeastChange * most_ms) {
    return false;
  }
  calibration.source = source;
  calibration.measured_ms = Median(measured);
  ORRERY_TRY(calibration.profiler_cost_ns, CostOf(time_ms, calibration.measured_ms));
  ORRERY_TRY(calibration.replayed_ms, time_ms(calibration.profiler_cost_ns));
  return true;
}

/// Returns true if a step that finds the GPU idle is issued in more time than a step of a run
/// takes: behind a synchronisation caches are cold and cores asleep, and the host is slower than in
/// a run, where it issues a step in at most the time of the step.
bool IssuesSlowlyAlone(const workload::TracedSteps& measured) {
  return !measured.issue_ms.empty() && !measured.step_ms.empty() &&
         Median(measured.step_ms) < Median(measured.issue_ms);
}

}  // namespace

std::string_view ProfilerCostSourceName(ProfilerCostSource source) {
  constexpr std::array<std::string_view, 3> kNames = {"issue time", "step time", "shared costs"};
  return kNames[static_cast<std::size_t>(source)];
}

Result<ReplayCalibration> CalibrateReplay(const trace::Trace& recording,
                                          const workload::TracedSteps& measured) {
  ReplayCalibration calibration{.host = HostOf(recording, 0)};
  const Replayer replayer(recording, calibration.host);
  const auto issue_ms = [&](double cost_ns) { return replayer.IssueMs(cost_ns); };
  const auto step_ms = [&](double cost_ns) { return replayer.StepMs(cost_ns); };
  bool is_found = false;
  if (!IssuesSlowlyAlone(measured)) {
    ORRERY_TRY(is_found,
               FitTo(issue_ms, measured.issue_ms, ProfilerCostSource::kIssue, calibration));
  }
  if (!is_found && (measured.issue_ms.empty() || IssuesSlowlyAlone(measured))) {
    ORRERY_TRY(is_found, FitTo(step_ms, measured.step_ms, ProfilerCostSource::kStep, calibration));
  }
  if (!is_found) {
    calibration.profiler_cost_ns = workload::DefaultHost().profiler_cost_ns;
  }
  calibration.host = HostOf(recording, calibration.profiler_cost_ns);
  return calibration;
}

Result<std::vector<double>> ProfilerCosts(std::span<const trace::Trace* const> recordings,
                                          std::span<const std::vector<double>> steps_ms) {
  std::vector<double> costs_ns(recordings.size(), -1);
  std::vector<double> found;
  for (std::size_t i = 0; i < recordings.size(); ++i) {
    if (steps_ms[i].empty()) {
      continue;
    }
    ORRERY_TRY(const ReplayCalibration calibration,
               CalibrateReplay(*recordings[i], {.step_ms = steps_ms[i]}));
    if (calibration.source == ProfilerCostSource::kStep) {
      found.push_back(costs_ns[i] = calibration.profiler_cost_ns);
    }
  }
  if (found.empty()) {
    return Fail(Error::Kind::kInvalidInput,
                "no recording has a measured step that its CPU limits, so the overhead of the "
                "profiler cannot be found; give --profiler-cost");
  }
  std::ranges::replace(costs_ns, -1.0, Median(found));
  return costs_ns;
}

}  // namespace orrery::calibrate
