#include "orrery/base/decimal.h"

#include <charconv>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

#include "orrery/base/parse_number.h"
#include "orrery/base/text.h"

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

std::optional<Decimal> TakeApart(std::string_view text) {
  Decimal number;
  const char* at = text.data();
  const char* const end = at + text.size();
  if (at != end && (*at == '-' || *at == '+')) {
    number.negative = *at == '-';
    ++at;
  }
  int num_digits = 0;
  bool any = false;
  const auto take = [&](char c, bool is_fraction) {
    any = true;
    if (num_digits < 19) {
      number.digits = number.digits * 10 + static_cast<std::uint64_t>(c - '0');
      num_digits += number.digits != 0 ? 1 : 0;
      number.exponent -= is_fraction ? 1 : 0;
    } else {
      number.exponent += is_fraction ? 0 : 1;
    }
  };
  for (; at != end && IsDigit(*at); ++at) {
    take(*at, false);
  }
  if (at != end && *at == '.') {
    for (++at; at != end && IsDigit(*at); ++at) {
      take(*at, true);
    }
  }
  if (any && at != end && (*at == 'e' || *at == 'E')) {
    ++at;
    at += at != end && *at == '+' ? 1 : 0;
    int exponent = 0;
    const auto [stop, error] = std::from_chars(at, end, exponent);
    if (error != std::errc() || exponent > 1000 || exponent < -1000) {
      return std::nullopt;
    }
    at = stop;
    number.exponent += exponent;
  }
  if (!any || at != end) {
    return std::nullopt;
  }
  return number;
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

std::optional<std::int64_t> ParseInteger(std::string_view text) {
  if (const auto whole = ParseWhole<std::int64_t>(text)) {
    return whole;
  }
  const auto number = TakeApart(text);
  return number ? Scale(*number, 0) : std::nullopt;
}

}  // namespace orrery
