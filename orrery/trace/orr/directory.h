#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"
#include "orrery/trace/orr/layout.h"

namespace orrery::trace::orr {

/// Returns the directory as bytes.
[[nodiscard]] std::string EncodeDirectory(const Directory& directory);

/// Returns the directory that `bytes` describe. Allocates in proportion to the bytes, whatever
/// they claim; that blocks lie in the file and fit their columns is for the reader to check.
[[nodiscard]] Result<Directory> DecodeDirectory(std::string_view bytes);

}  // namespace orrery::trace::orr
