#pragma once

#include <cstdint>
#include <span>

#include "orrery/simulate/breakdown.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// Where the measured time of a step is expected in four of five jobs.
struct StepInterval {
  double low_s = 0;
  double high_s = 0;

  [[nodiscard]] bool Contains(double seconds) const {
    return low_s <= seconds && seconds <= high_s;
  }
};

/// From the residuals of runs that the fit has seen, the spread of frameworks (whole where the
/// framework has no rows of its own, half of it where it has), each by its share of the step, and
/// wider by the share of kernels that were never measured on this GPU or at such a size.
[[nodiscard]] StepInterval IntervalOf(const Breakdown& breakdown, const workload::Job& job,
                                      std::span<const workload::PriceCoverage> coverage);

}  // namespace orrery::simulate
