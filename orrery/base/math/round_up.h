#pragma once

#include <cstdint>

namespace orrery {

/// value / divisor, rounded up; for values of at least 0.
[[nodiscard]] constexpr std::int64_t DivideUp(std::int64_t value, std::int64_t divisor) {
  return (value + divisor - 1) / divisor;
}

/// The least multiple that is not below `value`; for values of at least 0.
[[nodiscard]] constexpr std::int64_t RoundUp(std::int64_t value, std::int64_t multiple) {
  return DivideUp(value, multiple) * multiple;
}

}  // namespace orrery
