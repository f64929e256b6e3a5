#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace orrery {

/// Reads a decimal number of microseconds as integer nanoseconds, rounding half up below that,
/// never through a double: epoch microseconds with three decimals need 19 digits.
/// Understands a sign, decimals and an exponent; nothing for other text and for values beyond
/// ±2^61 ns (73 years), which leaves room to add times without overflow.
[[nodiscard]] std::optional<std::int64_t> ParseMicroseconds(std::string_view text);

/// Reads a decimal number of seconds in the same way.
[[nodiscard]] std::optional<std::int64_t> ParseSecondsAsNs(std::string_view text);

/// Reads an integer; "12.0" counts as 12. Nothing for other text and beyond 64 bits.
[[nodiscard]] std::optional<std::int64_t> ParseInteger(std::string_view text);

}  // namespace orrery
