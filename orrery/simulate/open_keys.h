#pragma once

#include <cstdint>

#include "orrery/base/error.h"
#include "orrery/kernel/estimate.h"
#include "orrery/simulate/simulation.h"
#include "orrery/workload/job/published_run.h"

namespace orrery::simulate {

/// A measured step time beside ours.
struct EvaluatedRun {
  workload::PublishedRun run;
  double predicted_s = 0;
  std::int64_t memory_bytes = 0;  // of the fullest stage
  bool fits = true;               // in the memory of the GPU

  /// (predicted − measured) / measured.
  [[nodiscard]] double Error() const { return predicted_s / run.measured_s - 1; }
};

/// Simulates a run. What it leaves open is taken as somebody who had to run it would, and added to
/// its assumptions:
/// - tensor parallelism is doubled within a node until the job fits;
/// - the micro-batch is doubled up to 8 samples while it fits and gains 5 % of the time, and stays
/// 1
///   where experts make memory uncertain;
/// - everything is recomputed where nothing less would nearly fit.
[[nodiscard]] Result<EvaluatedRun> EvaluateRun(workload::PublishedRun run, const kernel::CostModel& costs,
                                         const SimulationOptions& options = {});

}  // namespace orrery::simulate
