#pragma once

#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>

#include <fmt/core.h>

#include "orrery/base/document/json_text.h"
#include "orrery/base/text/decimal.h"
#include "orrery/base/text/parse_number.h"

namespace orrery::ingest {

// Many values of a file stay JSON text until a column needs them; a token is such a text.

[[nodiscard]] inline bool IsQuoted(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"';
}

/// Returns the text inside the quotes; other tokens as they are.
[[nodiscard]] inline std::string_view Unquoted(std::string_view token) {
  return IsQuoted(token) ? token.substr(1, token.size() - 2) : token;
}

/// Returns the unescaped text of a string token; `buffer` is used only if it has escapes.
[[nodiscard]] std::string_view TextOf(std::string_view token, std::string& buffer);

/// Parses an integer, also one that the file has as a string.
[[nodiscard]] inline std::optional<std::int64_t> IntegerOf(std::string_view token) {
  return ParseInteger(Unquoted(token));
}

/// As IntegerOf, for numbers that use all 64 bits.
[[nodiscard]] inline std::optional<std::uint64_t> UnsignedOf(std::string_view token) {
  return ParseWhole<std::uint64_t>(Unquoted(token));
}

/// Returns a list without its blanks: files write "[0, 1]" and "[0,1]" for the same ranks.
[[nodiscard]] inline std::string WithoutBlanks(std::string list) {
  std::erase(list, ' ');
  return list;
}

/// Returns a number that fits 32 bits, else -1.
[[nodiscard]] inline std::int32_t Narrow(std::int64_t value) {
  return value >= INT32_MIN && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

/// Writes the fields of a JSON object without its braces, as the `extra` columns of a trace hold
/// them. Numbers that are not finite become null.
class JsonFields {
 public:
  template <typename T>
  void Add(std::string_view name, const T& value) {
    if constexpr (std::is_convertible_v<T, std::string_view>) {
      AddJson(name, QuoteJson(value));
    } else {
      AddJson(name, std::isfinite(static_cast<double>(value)) ? fmt::format("{}", value) : "null");
    }
  }

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void AddJson(std::string_view name, std::string_view json);

  std::string text_;
};

}  // namespace orrery::ingest
