#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/metrics.h"
#include "orrery/overlap/concurrent_kernels.h"

namespace orrery::overlap {

/// The features of a pair for learned models: both kernels, and the analytic model's parts. Unknown
/// values are NaN, so that one model serves measured and planned kernels.
[[nodiscard]] std::span<const std::string> FeatureNames();

/// Appends the features of a pair, in the order of their names.
void AppendFeatures(const Machine& machine, const Pair& pair, const Arrival& arrival,
                    std::vector<float>& features);
[[nodiscard]] std::vector<learn::FeatureGroup> FeatureGroups();

/// The pair as known from a plan: no launch of the compute kernel, no counters. The family follows
/// from the GPU and the operator.
[[nodiscard]] Pair AsPlanned(Pair pair);

/// The features of a pair (features.h), and of its overlap.
[[nodiscard]] std::span<const std::string> KernelOverlapFeatureNames();

/// Appends the features of a pair that overlaps once, or, without an overlap, of a kernel
/// concurrent with continuous communication.
void AppendKernelOverlapFeatures(const Machine& machine, const Pair& pair,
                                 const std::optional<KernelOverlap>& overlap,
                                 std::vector<float>& features);

[[nodiscard]] std::vector<learn::FeatureGroup> KernelOverlapFeatureGroups();
[[nodiscard]] Arrival ArrivalOf(const Pair& pair, const KernelOverlap& overlap);

}  // namespace orrery::overlap
