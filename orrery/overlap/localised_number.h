#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

namespace orrery::overlap {

/// What stands before the decimals.
enum class DecimalMark : std::uint8_t { kPoint, kComma };

/// Tells from all numbers of a file which it is, since "34,254" alone may be both: a number with
/// both marks has the decimals behind the last; a mark that comes twice separates thousands; a mark
/// with other than three digits behind it is the decimal one. A point where nothing tells.
[[nodiscard]] DecimalMark DecimalMarkOf(std::span<const std::string_view> numbers);

/// Reads "1,234.5" or "1.234,5", also with blanks, thin or no-break ones, or apostrophes between
/// thousands; nothing for other text ("no data").
[[nodiscard]] std::optional<double> ParseLocalised(std::string_view text, DecimalMark mark);

}  // namespace orrery::overlap
