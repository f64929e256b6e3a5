#pragma once

#include <cstdint>
#include <string>

#include "orrery/base/units.h"

namespace orrery::draw {

// Numbers for people. Scaled values have three digits and the unit that keeps them below 1,000.

/// Returns "1,234,567".
[[nodiscard]] std::string FormatCount(std::int64_t count);

/// Returns "512 ns", "12.3 ms", "1.50 s", "7,200 s".
[[nodiscard]] std::string FormatDuration(Duration duration);

/// Returns "512 B", "4.20 GB": powers of 1,000.
[[nodiscard]] std::string FormatBytes(Bytes size);

/// Returns "512 B", "4.20 GiB": powers of 1,024.
[[nodiscard]] std::string FormatBinaryBytes(Bytes size);

/// Returns "4.20 GB/s": powers of 1,000.
[[nodiscard]] std::string FormatBandwidth(Bandwidth rate);

}  // namespace orrery::draw
