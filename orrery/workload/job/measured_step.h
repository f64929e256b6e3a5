#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/workload/job/job.h"
#include "orrery/workload/job/run_row.h"

namespace orrery::workload {

/// How long a step took.
struct MeasuredStep {
  double seconds = 0;
  std::string derived_from = {};  // what the time follows from; empty where the row has it
};

/// The time of a row's step: as it stands there; else the batch over the throughput; else the
/// operations of a step, counted as the row says its source counts them (`tflops_kind`), over its
/// TFLOP/s or its share of the GPU's peak. `job` has its model, batch and machine.
[[nodiscard]] Result<MeasuredStep> MeasuredStepOf(const RunRow& row, const Job& job);

/// Whether a row has a step time or what it can be derived from.
[[nodiscard]] bool HasMeasurement(const RunRow& row);

}  // namespace orrery::workload
