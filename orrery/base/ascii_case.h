#pragma once

#include <algorithm>
#include <string>
#include <string_view>

namespace orrery {

/// Returns an ASCII letter in lower case, anything else as it is; unlike std::tolower it needs no
/// cast and knows no locale.
[[nodiscard]] constexpr char LowerCase(char c) {
  return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
}

[[nodiscard]] inline std::string LowerCase(std::string_view text) {
  std::string lower(text);
  std::ranges::transform(lower, lower.begin(), [](char c) { return LowerCase(c); });
  return lower;
}

[[nodiscard]] inline bool SameIgnoringCase(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](char x, char y) { return LowerCase(x) == LowerCase(y); });
}

}  // namespace orrery
