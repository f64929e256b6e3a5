#pragma once

#include "orrery/compat/ccl_bench/compat.h"
#include "orrery/trace/enums.h"

// Metrics from the sizes that communication kernels carry in their arguments.

namespace orrery::compat::ccl_bench {

/// `bandwidth_utilization_*_group_6`: GiB/s, median over the first file that has the kind.
template <trace::CollectiveKind kind>
[[nodiscard]] CompatResult BandwidthOfKind(const CompatRun& run);

/// `collective_vol_*_gb`: what the lowest rank puts in over the whole file; kUnknown: all kinds.
template <trace::CollectiveKind kind>
[[nodiscard]] CompatResult VolumeOfKind(const CompatRun& run);

/// `bandwidth_utilization`: expected over observed time of all-reduces on a link of 100 GB/s.
[[nodiscard]] CompatResult BandwidthUtilization(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
