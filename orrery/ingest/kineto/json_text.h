#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace orrery::ingest::kineto {

// Values of the file are kept as their JSON text until a column wants them.

[[nodiscard]] inline bool IsQuoted(std::string_view token) {
  return token.size() >= 2 && token.front() == '"' && token.back() == '"';
}

/// What stands between the quotes; other tokens as they are.
[[nodiscard]] inline std::string_view Unquoted(std::string_view token) {
  return IsQuoted(token) ? token.substr(1, token.size() - 2) : token;
}

/// The text that a string token means; `buffer` is used only where there are escapes.
[[nodiscard]] std::string_view TextOf(std::string_view token, std::string& buffer);

/// An integer, also where the file has it as a string.
[[nodiscard]] std::optional<std::int64_t> IntegerOf(std::string_view token);

/// The same for numbers that use all 64 bits.
[[nodiscard]] std::optional<std::uint64_t> UnsignedOf(std::string_view token);

/// A number with decimals.
[[nodiscard]] std::optional<double> NumberOf(std::string_view token);

/// A number that should have 32 bits; -1 where it has more.
[[nodiscard]] inline std::int32_t Narrow(std::int64_t value) {
  return value >= INT32_MIN && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

/// A list without its blanks: files write "[0, 1]" and "[0,1]" for the same ranks.
[[nodiscard]] std::string WithoutBlanks(std::string_view list);

/// Writes `text` as a JSON string with its quotes.
[[nodiscard]] std::string Quoted(std::string_view text);

}  // namespace orrery::ingest::kineto
