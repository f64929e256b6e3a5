#pragma once

#include <cstdint>
#include <optional>

#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Energy of the GPUs of a job; hosts, network and cooling come on top.
struct StepEnergy {
  double joules = 0;        // of a step, all GPUs
  double watts_of_gpu = 0;  // mean over GPUs and the step
  double clock = 1;         // of the GPU that is throttled most, as a share of its highest clock

  /// Of thirty days, in kilowatt-hours.
  [[nodiscard]] double MonthKwh(int gpus) const;
};

/// Nothing where the power of a GPU of the job is not known.
[[nodiscard]] std::optional<StepEnergy> EnergyOf(const workload::Job& job,
                                                 const workload::GeneratedJob& generated,
                                                 std::int64_t step_ps);

}  // namespace orrery::simulate
