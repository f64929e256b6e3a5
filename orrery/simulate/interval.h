#pragma once

#include <cstdint>
#include <span>

#include "orrery/learn/interval.h"
#include "orrery/simulate/breakdown.h"
#include "orrery/simulate/interval_calibration.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

[[nodiscard]] StepTraits TraitsOf(const Breakdown& breakdown, const workload::Job& job,
                                  std::span<const workload::PriceCoverage> coverage);

/// From the residuals of runs that the fit has seen, the spread of frameworks (whole where the
/// framework has no rows of its own, two thirds of it where it has), each by its share of the step,
/// and wider by the share that waits for the host, which no table describes, and by the share of
/// kernels that were never measured on this GPU or at such a size.
[[nodiscard]] learn::TimeInterval IntervalOf(const Breakdown& breakdown, const workload::Job& job,
                                             std::span<const workload::PriceCoverage> coverage);

/// Of the ratio of two steps of the same model on the same machine, the second over the first: what
/// both follow alike cancels, and only the shares of the step that differ count, beside the noise
/// of two runs.
[[nodiscard]] learn::TimeInterval IntervalOfRatio(const Breakdown& first, const Breakdown& second,
                                                  const workload::Job& job);

}  // namespace orrery::simulate
