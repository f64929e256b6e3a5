#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/call_tree.h"
#include "orrery/workload/recorded/host/host_fit.h"
#include "orrery/workload/recorded/host/host_model.h"
#include "orrery/workload/recorded/ranks/traced_job.h"
#include "orrery/workload/recorded/recorded_costs.h"

namespace orrery::calibrate {

/// Measurements from which the profiler's cost of an event was found, best first.
enum class ProfilerCostSource : std::uint8_t {
  kIssue,   // the time in which the host issues a step that finds the GPU idle
  kStep,    // steps one behind the other, where those are shorter than the time to issue one alone;
            // they then cannot evaluate the replay any more, only another process can
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

/// Finds what the profiler took for each event of a recording from steps that were measured
/// without it: the one value with which the replayed host issues a step in the measured time.
[[nodiscard]] Result<ReplayCalibration> CalibrateReplay(const trace::Trace& recording,
                                                        const workload::TracedSteps& measured);

/// The profiler's time for each event of each recording, in nanoseconds, by the steps of its model
/// that were measured without it. Recordings whose GPU hides the host, or without measured steps,
/// get the median of the others.
[[nodiscard]] Result<std::vector<double>> ProfilerCosts(
    std::span<const trace::Trace* const> recordings, std::span<const std::vector<double>> steps_ms);

}  // namespace orrery::calibrate
