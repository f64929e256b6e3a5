#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/importance.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// What learned models see of a pair: both concurrent_kernels, and what arithmetic says of them together. What
/// is not known is NaN, so that one model serves measured kernels and planned ones.
[[nodiscard]] std::span<const std::string> FeatureNames();

/// Appends the features of a pair, in the order of their names.
void AppendFeatures(const Machine& machine, const Pair& pair, const Arrival& arrival,
                    std::vector<float>& features);

/// Features that tell of the same thing, for importance.
[[nodiscard]] std::vector<learn::FeatureGroup> FeatureGroups();

/// The pair as a plan knows it: no launch of the kernel that computes, no counters. Whose kernel it
/// is follows from the GPU and the operator.
[[nodiscard]] Pair AsPlanned(Pair pair);

}  // namespace orrery::overlap
