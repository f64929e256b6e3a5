#pragma once

#include "orrery/compat/ccl_bench/compat.h"

// The suite's scripts for NVLink counters. Without a link and a direction their maximum and average
// are of one link and one direction, not of the GPU.

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult MaxThroughput(const CompatRun& run);
[[nodiscard]] CompatResult AvgThroughput(const CompatRun& run);
[[nodiscard]] CompatResult TotalCommunication(const CompatRun& run);
[[nodiscard]] CompatResult NvlinkAll(const CompatRun& run);
[[nodiscard]] CompatResult PeakKernels(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
