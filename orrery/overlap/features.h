#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "orrery/learn/importance.h"
#include "orrery/overlap/model.h"

namespace orrery::overlap {

/// The features of a pair for learned models: both kernels, and the analytic model's parts. Unknown
/// values are NaN, so that one model serves measured and planned kernels.
[[nodiscard]] std::span<const std::string> FeatureNames();

/// Appends the features of a pair, in the order of their names.
void AppendFeatures(const Machine& machine, const Pair& pair, const Arrival& arrival,
                    std::vector<float>& features);

/// Groups of related features, for importance.
[[nodiscard]] std::vector<learn::FeatureGroup> FeatureGroups();

/// The pair as known from a plan: no launch of the compute kernel, no counters. The family follows
/// from the GPU and the operator.
[[nodiscard]] Pair AsPlanned(Pair pair);

}  // namespace orrery::overlap
