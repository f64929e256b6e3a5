#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {

/// The version of containers that this program writes; it reads this one and all before it.
inline constexpr std::uint32_t kContainerVersion = 1;

inline constexpr std::size_t kHeaderBytes = 16;

/// Returns the first bytes of a container: magic and version.
[[nodiscard]] std::string Header();

/// Returns the directory as bytes.
[[nodiscard]] std::string EncodeDirectory(const Directory& directory);

/// Returns the encoded directory and the footer that follow `directory_offset` bytes of header and
/// blocks.
[[nodiscard]] std::string Closing(std::uint64_t directory_offset, std::string_view directory);

/// Checks header, footer and the checksum over both and the directory; returns the bytes of the
/// directory.
[[nodiscard]] Result<std::string_view> OpenEnvelope(std::string_view file);

/// Returns the directory that `bytes` describe. Allocates in proportion to the bytes, whatever
/// they claim; the reader checks that blocks lie in the file and fit their columns.
[[nodiscard]] Result<Directory> DecodeDirectory(std::string_view bytes);

}  // namespace orrery::trace::orr
