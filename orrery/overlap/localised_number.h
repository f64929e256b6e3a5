#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace orrery::overlap {

/// The decimal separator.
enum class DecimalMark : std::uint8_t { kPoint, kComma };

/// Infers the separator from all numbers of a file, since "34,254" is ambiguous: in a number with
/// both marks the last is the decimal one; a mark that occurs twice separates thousands; a mark not
/// followed by three digits is the decimal one. Default: point.
[[nodiscard]] DecimalMark DecimalMarkOf(std::span<const std::string_view> numbers);

/// Reads "1,234.5" or "1.234,5", also with spaces or apostrophes between thousands; nothing for
/// other text ("no data").
[[nodiscard]] std::optional<double> ParseLocalised(std::string_view text, DecimalMark mark);

}  // namespace orrery::overlap
