#include "orrery/simulate/replay_calibration.h"

#include <algorithm>
#include <functional>

#include "orrery/base/statistics.h"
#include "orrery/simulate/engine.h"
#include "orrery/workload/recorded/host_model.h"
#include "orrery/workload/recorded/host_fit.h"
#include "orrery/workload/recorded/recorded.h"

namespace orrery::simulate {
namespace {

using workload::HostModel;
using workload::Program;
using workload::TaskId;

// Enough for the host to run ahead of the GPU as far as it ever will.
constexpr int kRepetitions = 4;

constexpr double kLargestCostNs = 20'000;
constexpr double kPrecisionNs = 10;

// A time that the largest cost changes by less than this says nothing about costs.
constexpr double kLeastChange = 0.05;

HostModel HostOf(const trace::Trace& recording, double profiler_cost_ns) {
  workload::HostFit fit;
  fit.Add(recording);
  return fit.Fit({.profiler_cost_ns = profiler_cost_ns, .with_spread = false});
}

/// When all tasks of a kind of lane have ended.
std::int64_t EndOf(const Program& program, const Timeline& timeline, workload::LaneKind kind) {
  std::int64_t end_ps = 0;
  for (TaskId task = 0; task < program.tasks.size(); ++task) {
    if (program.lanes.kind[program.tasks.lane[task]] == kind) {
      end_ps = std::max(end_ps, timeline.end_ps[task]);
    }
  }
  return end_ps;
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
    ORRERY_TRY(const Timeline timeline, SimulateSingleRank(program));
    return static_cast<double>(EndOf(program, timeline, workload::LaneKind::kHostThread)) * 1e-9;
  }

  [[nodiscard]] Result<double> StepMs(double profiler_cost_ns) const {
    const Program program = ProgramWithout(profiler_cost_ns);
    ORRERY_TRY(const Timeline timeline, SimulateSingleRank(program, {.repetitions = kRepetitions}));
    return static_cast<double>(FiguresOf(program, timeline).step_ps) * 1e-9;
  }

  [[nodiscard]] Result<ReplayedStep> Replay(double profiler_cost_ns) const {
    const Program program = ProgramWithout(profiler_cost_ns);
    ORRERY_TRY(const Timeline timeline, SimulateSingleRank(program, {.repetitions = kRepetitions}));
    ReplayedStep step{.figures = FiguresOf(program, timeline)};
    ORRERY_TRY(const Timeline alone, SimulateSingleRank(program));
    step.issue_ps = EndOf(program, alone, workload::LaneKind::kHostThread);
    step.alone_ps = std::max(step.issue_ps, EndOf(program, alone, workload::LaneKind::kStream));
    return step;
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

}  // namespace

std::string_view ProfilerCostSourceName(ProfilerCostSource source) {
  switch (source) {
    case ProfilerCostSource::kIssue:
      return "issue time";
    case ProfilerCostSource::kStep:
      return "step time";
    case ProfilerCostSource::kShared:
      return "shared costs";
  }
  return "";
}

Result<ReplayCalibration> CalibrateReplay(const trace::Trace& recording,
                                          const workload::TracedSteps& measured) {
  ReplayCalibration calibration{.host = HostOf(recording, 0)};
  const Replayer replayer(recording, calibration.host);
  const auto issue_ms = [&](double cost_ns) { return replayer.IssueMs(cost_ns); };
  const auto step_ms = [&](double cost_ns) { return replayer.StepMs(cost_ns); };
  ORRERY_TRY(bool is_found,
             FitTo(issue_ms, measured.issue_ms, ProfilerCostSource::kIssue, calibration));
  if (!is_found && measured.issue_ms.empty()) {
    ORRERY_TRY(is_found, FitTo(step_ms, measured.step_ms, ProfilerCostSource::kStep, calibration));
  }
  if (!is_found) {
    calibration.profiler_cost_ns = workload::DefaultHost().profiler_cost_ns;
  }
  calibration.host = HostOf(recording, calibration.profiler_cost_ns);
  return calibration;
}

Result<ReplayedStep> ReplayStep(const trace::Trace& recording,
                                const ReplayCalibration& calibration) {
  return Replayer(recording, calibration.host).Replay(calibration.profiler_cost_ns);
}

}  // namespace orrery::simulate
