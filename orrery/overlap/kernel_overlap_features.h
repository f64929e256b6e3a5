#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/importance.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// The features of a pair (features.h), and how the two kernels meet.
[[nodiscard]] std::span<const std::string> KernelOverlapFeatureNames();

/// Appends the features of a pair that meets once, or, without a overlap_event, of a kernel beside
/// communication that is there all the time.
void AppendKernelOverlapFeatures(const Machine& machine, const Pair& pair,
                           const std::optional<KernelOverlap>& overlap_event, std::vector<float>& features);

[[nodiscard]] std::vector<learn::FeatureGroup> KernelOverlapFeatureGroups();

/// The overlap_event as the second kernel sees it.
[[nodiscard]] Arrival ArrivalOf(const Pair& pair, const KernelOverlap& overlap_event);

}  // namespace orrery::overlap
