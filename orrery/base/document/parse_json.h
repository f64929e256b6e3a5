#pragma once

#include <cstddef>
#include <string_view>

#include "orrery/base/document/value.h"
#include "orrery/base/error.h"

namespace orrery {

// Limits of ParseJson: deeper values would exhaust the stack, and Value looks fields up in turn.
inline constexpr std::size_t kDeepestJson = 64;
inline constexpr std::size_t kMostJsonFields = 512;  // of one object

/// Reads a small JSON text, such as a message, into a Value. Integers above 2^63 - 1 become
/// numbers; of fields with the same name the last counts.
[[nodiscard]] Result<Value> ParseJson(std::string_view text);

}  // namespace orrery
