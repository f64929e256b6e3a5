#include "orrery/ingest/microseconds.h"

#include <charconv>
#include <cmath>
#include <cstddef>

namespace orrery::ingest {
namespace {

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::optional<std::int64_t> ThroughDouble(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const double nanoseconds = std::round(value * 1e3);
  if (error != std::errc() || end != text.data() + text.size() || std::abs(nanoseconds) > 9.2e18) {
    return std::nullopt;
  }
  return static_cast<std::int64_t>(nanoseconds);
}

bool AppendDigit(std::int64_t& number, int digit) {
  return !__builtin_mul_overflow(number, 10, &number) &&
         !__builtin_add_overflow(number, digit, &number);
}

}  // namespace

std::optional<std::int64_t> ParseMicroseconds(std::string_view text) {
  if (text.find_first_of("eE") != std::string_view::npos) {
    return ThroughDouble(text);
  }
  const bool is_negative = text.starts_with('-');
  text.remove_prefix(is_negative ? 1 : 0);
  const std::size_t point = text.find('.');
  const std::string_view whole = text.substr(0, point);
  const std::string_view fraction =
      point == std::string_view::npos ? std::string_view() : text.substr(point + 1);
  if (whole.empty()) {
    return std::nullopt;
  }
  std::int64_t nanoseconds = 0;
  for (const char c : whole) {
    if (!IsDigit(c) || !AppendDigit(nanoseconds, c - '0')) {
      return std::nullopt;
    }
  }
  for (std::size_t i = 0; i < 3; ++i) {
    if (!AppendDigit(nanoseconds,
                     i < fraction.size() && IsDigit(fraction[i]) ? fraction[i] - '0' : 0)) {
      return std::nullopt;
    }
  }
  for (const char c : fraction) {
    if (!IsDigit(c)) {
      return std::nullopt;
    }
  }
  if (fraction.size() > 3 && fraction[3] >= '5' &&
      __builtin_add_overflow(nanoseconds, 1, &nanoseconds)) {
    return std::nullopt;
  }
  return is_negative ? -nanoseconds : nanoseconds;
}

}  // namespace orrery::ingest
