#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/simulate/step_figures.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host_model.h"
#include "orrery/workload/recorded/recorded_costs.h"
#include "orrery/workload/recorded/traced_job.h"

namespace orrery::simulate {

/// What the profiler's cost of an event was found from, best first.
enum class ProfilerCostSource : std::uint8_t {
  kIssue,   // how long the host issues a step that finds the GPU idle
  kStep,    // steps one behind the other, which then cannot evaluate the replay any more
  kShared,  // the shared costs of the host: the GPU hides the host, or nothing was measured
};

/// Returns "issue time", "step time" or "shared costs".
[[nodiscard]] std::string_view ProfilerCostSourceName(ProfilerCostSource source);

/// The host of a recording as it is without the profiler.
struct ReplayCalibration {
  ProfilerCostSource source = ProfilerCostSource::kShared;
  double profiler_cost_ns = 0;  // of one event
  // What it was fitted to, and what the replay makes of it: what remains between them is no cost of
  // events. 0 for the shared costs.
  double measured_ms = 0;
  double replayed_ms = 0;
  workload::HostModel host = {};  // of this recording, for what lies between host and GPU
};

/// A step as it runs without the profiler.
struct ReplayedStep {
  StepFigures figures;        // of steps one behind the other
  std::int64_t issue_ps = 0;  // until the host has issued a step that finds the GPU idle
  std::int64_t alone_ps = 0;  // such a step to the end of all its work
};

/// Finds what the profiler took for each event of a recording from steps that were measured
/// without it: the one value with which the replayed host issues a step in the measured time.
[[nodiscard]] Result<ReplayCalibration> CalibrateReplay(const trace::Trace& recording,
                                                        const workload::TracedSteps& measured);

/// Replays the middle step of a recording: its kernels, and its host without the profiler.
[[nodiscard]] Result<ReplayedStep> ReplayStep(const trace::Trace& recording,
                                              const ReplayCalibration& calibration);

}  // namespace orrery::simulate
