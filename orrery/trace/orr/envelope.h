#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery::trace::orr {

/// The version of containers that this program writes; it reads this one and all before it.
inline constexpr std::uint32_t kContainerVersion = 1;

inline constexpr std::size_t kHeaderBytes = 16;

/// Returns the first bytes of a container: magic and version.
[[nodiscard]] std::string Header();

/// Returns the directory and the footer that belong after `directory_offset` bytes of header and
/// blocks.
[[nodiscard]] std::string Closing(std::uint64_t directory_offset, std::string_view directory);

/// Checks header, footer and the checksum over both and the directory; returns the bytes of the
/// directory.
[[nodiscard]] Result<std::string_view> OpenEnvelope(std::string_view file);

}  // namespace orrery::trace::orr
