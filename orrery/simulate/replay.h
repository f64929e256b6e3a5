#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/simulate/engine/engine.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"
#include "orrery/workload/recorded/host/replayed_host.h"

namespace orrery::simulate {

/// Enough for the host to run ahead of the GPU as far as it ever will.
inline constexpr int kReplayRepetitions = 4;

/// Times of a step in the steady state. Taken from the last repetition (the one before it where
/// streams share the GPU): the period is the distance of its end from that of the one before.
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

/// Simulates the program of a recording alone: kernels of different streams share the GPU's
/// multiprocessors (AnalyticOverlap).
[[nodiscard]] Result<Timeline> SimulateRecording(const workload::Program& program, int repetitions);

/// Simulates the middle step of a recording with its own kernel times and the host of a model.
[[nodiscard]] Result<StepFigures> ReplayRecording(const trace::Trace& recording,
                                                  const workload::HostChoice& host);

}  // namespace orrery::simulate
