#pragma once

#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace orrery {

/// Parses the number that `text` begins with.
template <typename T>
[[nodiscard]] std::optional<T> ParsePrefix(std::string_view text) {
  T value{};
  const auto parsed = std::from_chars(text.data(), text.data() + text.size(), value);
  return parsed.ec == std::errc() ? std::optional(value) : std::nullopt;
}

/// Parses a number that is all of `text`.
template <typename T>
[[nodiscard]] std::optional<T> ParseWhole(std::string_view text) {
  T value{};
  const char* const end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  return parsed.ec == std::errc() && parsed.ptr == end ? std::optional(value) : std::nullopt;
}

/// Returns a number that is not negative and fits 32 bits, else -1, which stands for "unknown" in
/// the columns of a trace.
[[nodiscard]] constexpr std::int32_t SmallOrUnknown(std::int64_t value) {
  return value >= 0 && value <= INT32_MAX ? static_cast<std::int32_t>(value) : -1;
}

}  // namespace orrery
