#pragma once

#include <string>
#include <string_view>

#include "orrery/base/error.h"

namespace orrery {

/// Returns a CSV text by columns, in about two thirds of the bytes of zstd: docs/formats/table.md.
/// Fails for a text that would not come back byte by byte: lines of unequal length or with "\r\n",
/// quotes that are not needed, zero bytes.
[[nodiscard]] Result<std::string> PackTable(std::string_view csv);

/// Returns true for what PackTable returns, from its first bytes.
[[nodiscard]] bool IsPackedTable(std::string_view head);

/// Returns the CSV text. Any bytes give a text or an error.
[[nodiscard]] Result<std::string> UnpackTable(std::string_view packed);

}  // namespace orrery
