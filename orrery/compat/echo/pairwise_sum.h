#pragma once

#include <span>

namespace orrery::compat::echo {

/// Adds as NumPy does: eight sums side by side in blocks of at most 128 values, blocks in pairs.
/// The last digits of figures that were printed by NumPy depend on this order.
[[nodiscard]] double PairwiseSum(std::span<const double> values);

/// PairwiseSum over the number of values.
[[nodiscard]] double PairwiseMean(std::span<const double> values);

}  // namespace orrery::compat::echo
