#pragma once

#include <optional>

#include "orrery/compat/ccl_bench/compat.h"

// Metrics that the suite takes from any Chrome JSON file: sums over all slices of all files.

namespace orrery::compat::ccl_bench {

[[nodiscard]] CompatResult WallTime(const CompatRun& run);
[[nodiscard]] CompatResult TotalComputeTime(const CompatRun& run);
[[nodiscard]] CompatResult TotalCommTime(const CompatRun& run);
[[nodiscard]] CompatResult AvgCommKernelTime(const CompatRun& run);
[[nodiscard]] CompatResult AllReduceCommTime(const CompatRun& run);
[[nodiscard]] CompatResult ComputeUtilizationProxy(const CompatRun& run);
[[nodiscard]] CompatResult NumCommKernels(const CompatRun& run);
[[nodiscard]] CompatResult AvgCommBandwidth(const CompatRun& run);
[[nodiscard]] CompatResult HockneyAlpha(const CompatRun& run);
[[nodiscard]] CompatResult HockneyBeta(const CompatRun& run);
[[nodiscard]] CompatResult HockneyInverseBeta(const CompatRun& run);
[[nodiscard]] CompatResult AchievedFlops(const CompatRun& run);
[[nodiscard]] CompatResult TotalModelFlops(const CompatRun& run);
[[nodiscard]] CompatResult EstimatedThroughput(const CompatRun& run);
[[nodiscard]] CompatResult FlopsPerTokenUsed(const CompatRun& run);
[[nodiscard]] CompatResult EstimatedTotalTokens(const CompatRun& run);
[[nodiscard]] CompatResult CommKernelBreakdownTpu(const CompatRun& run);
[[nodiscard]] CompatResult EstimatedBandwidth(const CompatRun& run);

/// Returns the summed seconds of communication slices, or nothing without any.
[[nodiscard]] std::optional<double> CommSeconds(const CompatRun& run);

}  // namespace orrery::compat::ccl_bench
