#pragma once

#include <cstdint>

namespace orrery {

/// Returns the value below which a standard normal variable lies with probability `p` (0 < p < 1).
[[nodiscard]] double NormalQuantile(double p);

/// Returns how far the largest of n standard normal variables is expected above their mean (Blom):
/// 1.43 for 8, 3.24 for 1,024.
[[nodiscard]] double ExpectedMaximum(std::uint32_t n);

}  // namespace orrery
