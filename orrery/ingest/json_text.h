#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

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
[[nodiscard]] std::optional<std::int64_t> IntegerOf(std::string_view token);

/// As IntegerOf, for numbers that use all 64 bits.
[[nodiscard]] std::optional<std::uint64_t> UnsignedOf(std::string_view token);

/// Parses a finite number, also one that the file has as a string.
[[nodiscard]] std::optional<double> NumberOf(std::string_view token);

/// Returns a number that fits 32 bits, else -1.
[[nodiscard]] inline std::int32_t Narrow(std::int64_t value) {
  return value >= INT32_MIN && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

/// Returns a list without its blanks: files write "[0, 1]" and "[0,1]" for the same ranks.
[[nodiscard]] std::string WithoutBlanks(std::string_view list);

/// Writes `text` as a JSON string with its quotes.
[[nodiscard]] std::string Quoted(std::string_view text);

/// Writes the fields of a JSON object without its braces, as the `extra` columns of a trace hold
/// them. Numbers that are not finite become null.
class JsonFields {
 public:
  void Add(std::string_view name, std::int64_t value);
  void Add(std::string_view name, std::uint64_t value);
  void Add(std::string_view name, double value);
  void Add(std::string_view name, std::string_view value);

  [[nodiscard]] const std::string& text() const { return text_; }

 private:
  void AddJson(std::string_view name, std::string_view json);

  std::string text_;
};

}  // namespace orrery::ingest
