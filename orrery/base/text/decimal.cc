#include "orrery/base/text/decimal.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "orrery/base/text/parse_number.h"
#include "orrery/base/text/text.h"

namespace orrery {
namespace {

constexpr std::int64_t kLimit = std::int64_t{1} << 61;

// A parsed decimal number: digits * 10^exponent. Digits beyond the 19th are dropped from the
// integer and only move the exponent.
struct Decimal {
  bool negative = false;
  std::uint64_t digits = 0;
  int exponent = 0;
};

// Adds the digits at the front of `text` to the number; returns what follows them.
std::string_view TakeDigits(std::string_view text, bool is_fraction, int& num_digits,
                            Decimal& number) {
  std::size_t at = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    if (num_digits < 19) {
      number.digits = number.digits * 10 + static_cast<std::uint64_t>(text[at] - '0');
      num_digits += number.digits != 0 ? 1 : 0;
      number.exponent -= is_fraction ? 1 : 0;
    } else {
      number.exponent += is_fraction ? 0 : 1;
    }
  }
  return text.substr(at);
}

// The number behind 'e'.
std::optional<int> ParseExponent(std::string_view text) {
  if (text.starts_with('+')) {
    text.remove_prefix(1);
  }
  int exponent = 0;
  const auto [stop, error] = std::from_chars(text.data(), text.data() + text.size(), exponent);
  if (error != std::errc() || stop != text.data() + text.size() || exponent > 1000 ||
      exponent < -1000) {
    return std::nullopt;
  }
  return exponent;
}

std::optional<Decimal> TakeApart(std::string_view text) {
  Decimal number;
  if (text.starts_with('-') || text.starts_with('+')) {
    number.negative = text.front() == '-';
    text.remove_prefix(1);
  }
  int num_digits = 0;
  std::string_view rest = TakeDigits(text, /*is_fraction=*/false, num_digits, number);
  std::size_t length = text.size() - rest.size();
  if (rest.starts_with('.')) {
    const std::string_view fraction = rest.substr(1);
    rest = TakeDigits(fraction, /*is_fraction=*/true, num_digits, number);
    length += fraction.size() - rest.size();
  }
  if (length == 0) {
    return std::nullopt;
  }
  if (rest.starts_with('e') || rest.starts_with('E')) {
    const std::optional<int> exponent = ParseExponent(rest.substr(1));
    number.exponent += exponent.value_or(0);
    return exponent ? std::optional(number) : std::nullopt;
  }
  return rest.empty() ? std::optional(number) : std::nullopt;
}

// digits * 10^shift, rounded half up; nothing beyond the limit.
std::optional<std::int64_t> Scale(const Decimal& number, int shift) {
  std::uint64_t value = number.digits;
  int power = number.exponent + shift;
  for (; power > 0 && value != 0; --power) {
    if (value > static_cast<std::uint64_t>(kLimit)) {
      return std::nullopt;
    }
    value *= 10;
  }
  std::uint64_t last_digit = 0;
  for (; power < 0 && (value != 0 || last_digit != 0); ++power) {
    last_digit = value % 10;
    value /= 10;
  }
  value += last_digit >= 5 ? 1 : 0;
  if (value > static_cast<std::uint64_t>(kLimit)) {
    return std::nullopt;
  }
  const auto magnitude = static_cast<std::int64_t>(value);
  return number.negative ? -magnitude : magnitude;
}

// The form nearly every time stamp has, "123.456": at most 18 digits and three decimals.
std::optional<std::int64_t> ParsePlainMicroseconds(std::string_view text) {
  if (text.empty() || text.size() > 18) {
    return std::nullopt;
  }
  std::int64_t value = 0;
  std::size_t at = 0;
  for (; at < text.size() && IsDigit(text[at]); ++at) {
    value = value * 10 + (text[at] - '0');
  }
  if (at == 0) {
    return std::nullopt;
  }
  if (at == text.size()) {
    return text.size() <= 15 ? std::optional(value * 1000) : std::nullopt;
  }
  if (text[at] != '.' || text.size() - at > 4) {
    return std::nullopt;
  }
  std::size_t decimals = 0;
  for (++at; at < text.size(); ++at, ++decimals) {
    if (!IsDigit(text[at])) {
      return std::nullopt;
    }
    value = value * 10 + (text[at] - '0');
  }
  for (; decimals < 3; ++decimals) {
    value *= 10;
  }
  return value;
}

}  // namespace

std::optional<std::int64_t> ParseMicroseconds(std::string_view text) {
  if (const auto plain = ParsePlainMicroseconds(text); plain && *plain <= kLimit) {
    return plain;
  }
  const auto number = TakeApart(text);
  return number ? Scale(*number, 3) : std::nullopt;
}

std::optional<std::int64_t> ParseSecondsAsNs(std::string_view text) {
  const auto number = TakeApart(text);
  return number ? Scale(*number, 9) : std::nullopt;
}

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (const auto whole = ParseWhole<std::int64_t>(text)) {
    return whole;
  }
  const auto number = TakeApart(text);
  return number ? Scale(*number, 0) : std::nullopt;
}

}  // namespace orrery
