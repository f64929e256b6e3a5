#pragma once

#include <cstdint>
#include <span>

namespace orrery::capture {

/// Returns, as bits, which addresses are the first in their 32-byte sector. At most 32 addresses.
[[nodiscard]] std::uint32_t FirstInSectors(std::span<const std::uint64_t> addresses);

}  // namespace orrery::capture
