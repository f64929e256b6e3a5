#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/importance.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// The features of a pair (features.h), and of its overlap.
[[nodiscard]] std::span<const std::string> KernelOverlapFeatureNames();

/// Appends the features of a pair that overlaps once, or, without an overlap, of a kernel
/// concurrent with continuous communication.
void AppendKernelOverlapFeatures(const Machine& machine, const Pair& pair,
                                 const std::optional<KernelOverlap>& overlap,
                                 std::vector<float>& features);

[[nodiscard]] std::vector<learn::FeatureGroup> KernelOverlapFeatureGroups();

/// The arrival of the second kernel.
[[nodiscard]] Arrival ArrivalOf(const Pair& pair, const KernelOverlap& overlap);

}  // namespace orrery::overlap
