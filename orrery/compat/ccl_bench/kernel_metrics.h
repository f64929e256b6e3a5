#pragma once

#include "orrery/compat/ccl_bench/compat.h"

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult TotalTraceTime(const CompatRun& run);
[[nodiscard]] CompatResult TotalKernelTime(const CompatRun& run);
[[nodiscard]] CompatResult MoeFraction(const CompatRun& run);
[[nodiscard]] CompatResult DominantKernelConcentration(const CompatRun& run);
[[nodiscard]] CompatResult AggregateGpuUtilization(const CompatRun& run);
[[nodiscard]] CompatResult MeanSmCoverage(const CompatRun& run);
[[nodiscard]] CompatResult LoadImbalanceRatio(const CompatRun& run);
[[nodiscard]] CompatResult BreakDownSteps(const CompatRun& run);
[[nodiscard]] CompatResult KernelComputeTimeGroup6(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
