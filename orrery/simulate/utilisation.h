#pragma once

#include <cstdint>
#include <string>

#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// How much of what the GPUs of a job could compute at their peak a step uses.
struct Utilisation {
  double flops = 0;               // of a step, all GPUs
  double flops_per_s_of_gpu = 0;  // the mean over GPUs
  double share = 0;               // of the dense peak; 0 where the GPU's peak is not known
  std::string definition;

  bool operator==(const Utilisation&) const = default;
};

/// What the model needs, however it is computed: no recomputation, the whole square of attention
/// (MFU).
[[nodiscard]] Utilisation ModelUtilisation(const workload::Job& job, std::int64_t step_ps);

/// What kernels execute: recomputation counts, and masked scores that a kernel leaves out do not
/// (HFU). It may be below the model's.
[[nodiscard]] Utilisation HardwareUtilisation(const workload::Job& job, std::int64_t step_ps);

}  // namespace orrery::simulate
