#pragma once

#include <string>

#include "orrery/simulate/engine.h"
#include "orrery/trace/trace.h"
#include "orrery/workload/program.h"

namespace orrery::simulate {

struct ResultOptions {
  std::string gpu;  // the name of the device that was simulated
  int first_repetition = 0;
};

/// Writes a timeline as the trace that a profiler would have recorded: operators and annotations on
/// host threads, launches with correlation ids, kernels on streams, and a step for each repetition.
/// Picoseconds are rounded to nanoseconds here and nowhere else.
[[nodiscard]] trace::Trace ResultTrace(const workload::Program& program, const Timeline& timeline,
                                       const ResultOptions& options);

}  // namespace orrery::simulate
