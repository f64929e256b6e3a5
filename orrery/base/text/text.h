#pragma once

#include <string>
#include <string_view>

// ASCII only, independent of the locale.

namespace orrery {

/// Returns an ASCII letter in lower case, anything else as it is.
[[nodiscard]] constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] std::string LowerCase(std::string_view text);

[[nodiscard]] bool SameIgnoringCase(std::string_view a, std::string_view b);

[[nodiscard]] constexpr bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

[[nodiscard]] constexpr bool Contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// Returns `text` without the characters of `blanks` at both ends.
[[nodiscard]] std::string_view Trimmed(std::string_view text, std::string_view blanks = " \t\r\n");

/// Returns the text after the first `key`, without leading blanks; empty if the key is absent.
[[nodiscard]] std::string_view TextAfter(std::string_view text, std::string_view key);

}  // namespace orrery
