#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/learn/forest.h"

namespace orrery::learn {

/// The standard error that rounding leaves may bring into a prediction of a shipped model: five of
/// them are 1e-4, one hundredth of a percent where predictions are logarithms of times.
inline constexpr double kShippedLeafError = 2e-5;

/// Returns the forest as it is shipped, leaves rounded. Evaluate this one.
[[nodiscard]] Forest RoundedForShipping(const Forest& forest);

/// Writes a forest for a section of a model file: the distinct thresholds of each feature once, as
/// floats; for each node, breadth first, whether it splits, on which feature and at which of its
/// thresholds; leaves as multiples of the forest's leaf step. Round the forest first,
/// else leaves take four bytes. Nothing is lost.
[[nodiscard]] std::string EncodeForest(const Forest& forest);

/// Reads what EncodeForest wrote; it predicts the same to the last bit.
[[nodiscard]] Result<Forest> DecodeForest(std::string_view bytes);

}  // namespace orrery::learn
