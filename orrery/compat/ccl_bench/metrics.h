#pragma once

#include <cmath>
#include <optional>
#include <string>
#include <string_view>

#include "orrery/compat/ccl_bench/registry.h"
#include "orrery/trace/enums.h"

namespace orrery::compat::ccl_bench {

/// The suite's usual placeholder for "unknown".
inline constexpr double kUnknown = -1.0;

[[nodiscard]] inline MetricResult Placeholder(double value = kUnknown) {
  return {.value = value, .is_missing = true};
}

[[nodiscard]] inline MetricResult NotANumber() {
  return {.is_missing = true};
}

[[nodiscard]] inline MetricResult Number(double value) {
  return std::isnan(value) ? NotANumber() : MetricResult{.value = value};
}

[[nodiscard]] inline MetricResult NumberOrUnknown(std::optional<double> value) {
  return value ? Number(*value) : Placeholder();
}

[[nodiscard]] inline MetricResult NumberOrNaN(std::optional<double> value) {
  return value ? Number(*value) : NotANumber();
}

/// The suite exits with an error and prints no value.
[[nodiscard]] inline MetricResult Fails(std::string_view error) {
  return {.reason = "ccl-bench fails here (" + std::string(error) + ")"};
}

[[nodiscard]] inline MetricResult NeedsTool(std::string_view tool) {
  return {.reason = "ccl-bench needs " + std::string(tool)};
}

using Metric = MetricResult(const Run& run);

// Sums over all slices of all Chrome JSON files.
Metric WallTime, TotalComputeTime, TotalCommTime, AvgCommKernelTime, AllReduceCommTime;
Metric ComputeUtilizationProxy, NumCommKernels, AvgCommBandwidth, HockneyAlpha, HockneyBeta;
Metric HockneyInverseBeta, AchievedFlops, TotalModelFlops, EstimatedThroughput, FlopsPerTokenUsed;
Metric EstimatedTotalTokens, CommKernelBreakdownTpu, EstimatedBandwidth;

/// Returns the summed seconds of communication slices, or nothing without any.
[[nodiscard]] std::optional<double> CommSeconds(const Run& run);

/// `bandwidth_utilization_*_group_6`: GiB/s, median over the first file with collectives of the
/// kind.
[[nodiscard]] MetricResult BandwidthOfKind(const Run& run, CollectiveKind kind);

/// `collective_vol_*_gb`: input bytes of the lowest rank over the whole file; kUnknown: all kinds.
[[nodiscard]] MetricResult VolumeOfKind(const Run& run, CollectiveKind kind);

/// `bandwidth_utilization`: expected over measured time of all-reduces on a link of 100 GB/s.
Metric BandwidthUtilization;

// Communication kernels as a share of all kernels; each tool of the suite has its own word list.
Metric CommunicationRatio, CommunicationFraction, TotalCommunicationTime;
Metric CommunicationOverlapRatio, ComputeCommOverlap;

// Kernels.
Metric TotalTraceTime, TotalKernelTime, MoeFraction, DominantKernelConcentration;
Metric AggregateGpuUtilization, MeanSmCoverage, LoadImbalanceRatio, BreakDownSteps;
Metric KernelComputeTimeGroup6;

// Memory.
Metric MemoryTransferOverhead, AverageMemoryBandwidth, MemoryBoundFraction;

// NCCL kernels.
Metric CollCallNum, CommunicationOverhead, Straggler, StragglerMetrics, TrafficWindow;

// NVLink counters. Without a link and a direction the maximum and the average are of one link and
// one direction, not of the GPU. `PeerToPeerBandwidth` uses counters of nsys.
Metric MaxThroughput, AvgThroughput, TotalCommunication, NvlinkAll, PeakKernels;
Metric PeerToPeerBandwidth;

// Steps and serving.
Metric AvgStepTime, Mfu, Ttft, Tpot, GpuStepScore;
Metric ServingMedianTtft, ServingMedianTpot, ServingThroughput;

}  // namespace orrery::compat::ccl_bench
