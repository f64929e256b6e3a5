#pragma once

#include <string>
#include <string_view>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"

namespace orrery {

/// Packs `bytes` so that `Unpack` gives them back; kNone copies them.
[[nodiscard]] std::string Pack(std::string_view bytes, Compression compression);

/// Tells from a file name we were given to write how to pack: ".gz", ".zst", or not at all.
[[nodiscard]] Compression CompressionOfName(std::string_view path);

/// Writes a file, packed as its name asks; an existing one is replaced when all is
/// written.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace orrery
