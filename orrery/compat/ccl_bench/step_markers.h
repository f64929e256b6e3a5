#pragma once

#include <optional>
#include <vector>

#include "orrery/base/interval_set.h"
#include "orrery/trace/trace.h"

namespace orrery::compat::ccl_bench {

/// Steps of one file, each the time of its marker on the host.
using Steps = std::vector<Interval>;

/// Returns the `ProfilerStep#n` ranges of the user in order of n.
[[nodiscard]] Steps ProfilerSteps(const trace::Trace& trace);

/// Returns vLLM's `execute_context_…` ranges (of old versions), else SGLang's `run_batch` calls.
[[nodiscard]] Steps EngineSteps(const trace::Trace& trace);

/// Returns the engine steps of vLLM on a TPU, known by a line number of its source.
[[nodiscard]] Steps XlaEngineSteps(const trace::Trace& trace);

/// Returns the steps without the first and the last when there are more than two.
[[nodiscard]] Steps InnerSteps(Steps steps);

/// Returns the inner profiler steps, else the inner engine steps.
[[nodiscard]] Steps InnerMarkedSteps(const trace::Trace& trace);

/// Returns the mean duration, or nothing.
[[nodiscard]] std::optional<double> MeanMicroseconds(const Steps& steps);

}  // namespace orrery::compat::ccl_bench
