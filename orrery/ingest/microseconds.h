#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery::ingest {

/// Reads a decimal number of microseconds as integer nanoseconds, digit by digit: epoch times with
/// three decimals need 19 digits, more than a double has. Digits beyond the nanosecond are rounded.
/// Numbers with an exponent go through double. Nothing if `text` is not a number or out of range.
[[nodiscard]] std::optional<std::int64_t> ParseMicroseconds(std::string_view text);

}  // namespace orrery::ingest
