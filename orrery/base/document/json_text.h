#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace orrery {

/// The replacement (U+FFFD) for bytes that are not UTF-8.
inline constexpr std::string_view kReplacementCharacter = "\xef\xbf\xbd";

struct CodePoint {
  char32_t value = 0;
  std::size_t num_bytes = 1;
  bool is_valid = true;
};

/// Decodes the first character of `text`, which must not be empty. Bytes that are not UTF-8
/// (overlong, surrogate or cut forms included) give U+FFFD for the longest part that could have
/// begun a character, as Unicode recommends.
[[nodiscard]] CodePoint FirstCodePoint(std::string_view text);

/// Tells whether `text` is valid between the quotes of a JSON string as it is: UTF-8 without
/// quotes, backslashes and control characters.
[[nodiscard]] bool IsPlainJsonText(std::string_view text);

/// Escapes text for a JSON string, without the quotes. Bytes that are not UTF-8 become U+FFFD.
[[nodiscard]] std::string EscapeJson(std::string_view text);

/// Returns the text as a JSON string, quotes included.
[[nodiscard]] std::string QuoteJson(std::string_view text);

}  // namespace orrery
