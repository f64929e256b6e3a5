#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "orrery/learn/interval.h"
#include "orrery/simulate/explain/breakdown.h"
#include "orrery/simulate/explain/step_intervals.h"
#include "orrery/workload/generate/generate.h"
#include "orrery/workload/job/job.h"

namespace orrery::simulate {

/// The traits that the interval of a step depends on.
[[nodiscard]] StepTraits TraitsOf(const Breakdown& breakdown, const workload::Job& job,
                                  std::span<const workload::PriceCoverage> coverage);

/// The shipped 80 % interval (StepIntervals) around the step.
[[nodiscard]] learn::TimeInterval IntervalOf(const Breakdown& breakdown, const workload::Job& job,
                                             std::span<const workload::PriceCoverage> coverage);

/// Why the shipped interval is wide, as WideIntervalSentence says it.
[[nodiscard]] std::string WideIntervalSentence(const Breakdown& breakdown, const workload::Job& job,
                                               std::span<const workload::PriceCoverage> coverage);

/// Of the ratio of two steps of the same model on the same machine, the second over the first: what
/// both follow alike cancels, and only the shares of the step that differ count, beside the noise
/// of two runs.
[[nodiscard]] learn::TimeInterval IntervalOfRatio(const Breakdown& first, const Breakdown& second,
                                                  const workload::Job& job);

}  // namespace orrery::simulate
