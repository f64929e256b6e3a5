#pragma once

#include <string>

#include "orrery/base/error.h"
#include "orrery/trace/trace.h"

namespace orrery::trace {

/// Fills `trace.steps` from step markers: PyTorch's ProfilerStep#, vLLM's execute ranges, SGLang's
/// run_batch, NVTX ranges of Megatron and NeMo, XLA's line of steps and markers; or from names that
/// match `marker` (a regular expression) when it is not empty. The first family that occurs
/// decides.
void FindSteps(Trace& trace, const std::string& marker);

/// Checks that `marker` is a regular expression.
[[nodiscard]] Status CheckStepMarker(const std::string& marker);

}  // namespace orrery::trace
