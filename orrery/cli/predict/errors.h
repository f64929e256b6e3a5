#pragma once

#include <cstddef>
#include <vector>

#include "orrery/cli/predict/output.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::cli {

/// The operators whose kernels together are predicted worst, by the time they are off in a step. A
/// kernel counts for the operator that launches it.
[[nodiscard]] std::vector<OperatorError> WorstOperators(const workload::Program& program,
                                                        const trace::Trace& measured,
                                                        std::size_t how_many);

/// The median duration of the measured steps; 0 without any.
[[nodiscard]] double MeasuredStepSeconds(const trace::Trace& measured);

}  // namespace orrery::cli
