#pragma once

#include <cstddef>
#include <vector>

#include "orrery/api/predict/trace_answer.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::api {

/// The operators whose kernels together are predicted worst, by the time they are off in a step. A
/// kernel counts for the operator that launches it.
[[nodiscard]] std::vector<OperatorError> WorstOperators(const workload::Program& program,
                                                        const trace::Trace& measured,
                                                        std::size_t how_many);

}  // namespace orrery::api
