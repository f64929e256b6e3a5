#include "orrery/overlap/localised_number.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>

#include "orrery/base/text.h"

namespace orrery::overlap {
namespace {

constexpr std::size_t kThousands = 3;

bool IsNumberLike(std::string_view text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return IsDigit(c) || c == '.' || c == ',' || c == '-';
  });
}

/// The mark of one number; nothing if ambiguous.
std::optional<DecimalMark> MarkOf(std::string_view text) {
  const std::size_t point = text.rfind('.');
  const std::size_t comma = text.rfind(',');
  const bool has_point = point != std::string_view::npos;
  const bool has_comma = comma != std::string_view::npos;
  if (!IsNumberLike(text) || (!has_point && !has_comma)) {
    return std::nullopt;
  }
  if (has_point && has_comma) {
    return point > comma ? DecimalMark::kPoint : DecimalMark::kComma;
  }
  const std::size_t at = has_point ? point : comma;
  const DecimalMark mark = has_point ? DecimalMark::kPoint : DecimalMark::kComma;
  const DecimalMark other = has_point ? DecimalMark::kComma : DecimalMark::kPoint;
  if (text.find(text[at]) != at) {
    return other;
  }
  // "0.585" has no thousands.
  const bool may_be_thousands =
      text.size() - at - 1 == kThousands && at > 0 && at <= kThousands && text[0] != '0';
  return may_be_thousands ? std::nullopt : std::optional(mark);
}

/// Removes thousands separators of locales, in UTF-8.
std::string WithoutBlanks(std::string_view text) {
  std::string rest(text);
  for (const std::string_view blank : {" ", "'", "\xc2\xa0", "\xe2\x80\xaf", "\xe2\x80\x99"}) {
    for (std::size_t at = rest.find(blank); at != std::string::npos; at = rest.find(blank)) {
      rest.erase(at, blank.size());
    }
  }
  return rest;
}

}  // namespace

DecimalMark DecimalMarkOf(std::span<const std::string_view> numbers) {
  std::size_t points = 0;
  std::size_t commas = 0;
  for (const std::string_view number : numbers) {
    const auto mark = MarkOf(number);
    points += mark == DecimalMark::kPoint ? 1 : 0;
    commas += mark == DecimalMark::kComma ? 1 : 0;
  }
  return commas > points ? DecimalMark::kComma : DecimalMark::kPoint;
}

std::optional<double> ParseLocalised(std::string_view text, DecimalMark mark) {
  std::string digits = WithoutBlanks(text);
  std::erase(digits, mark == DecimalMark::kPoint ? ',' : '.');
  std::ranges::replace(digits, ',', '.');
  double value = 0;
  const char* const end = digits.data() + digits.size();
  const auto [stop, error] = std::from_chars(digits.data(), end, value);
  if (error != std::errc() || stop != end || !std::isfinite(value)) {
    return std::nullopt;
  }
  return value;
}

}  // namespace orrery::overlap
