#pragma once

#include <string>
#include <string_view>

#include "orrery/base/byte_source.h"
#include "orrery/base/error.h"

namespace orrery {

/// Compresses `bytes`; kNone copies them.
[[nodiscard]] std::string Pack(std::string_view bytes, Compression compression);

/// Returns the compression for a file name to write: by ".gz", ".zst", or none.
[[nodiscard]] Compression CompressionOfName(std::string_view path);

/// Writes a file, compressed according to its name; an existing file is replaced at the end.
[[nodiscard]] Status WriteFile(const std::string& path, std::string_view bytes);

}  // namespace orrery
