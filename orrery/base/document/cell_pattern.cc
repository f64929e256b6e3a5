#include "orrery/base/document/cell_pattern.h"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <fmt/core.h>

namespace orrery {
namespace {

constexpr std::size_t kMaxDigits = 18;  // fit into 63 bits
constexpr std::size_t kMaxDecimals = 9;

bool IsDigit(char c) {
  return c >= '0' && c <= '9';
}

std::size_t DigitsAt(std::string_view text, std::size_t begin) {
  std::size_t end = begin;
  while (end < text.size() && IsDigit(text[end])) {
    ++end;
  }
  return end - begin;
}

// Appends the number at `begin` and returns its length; 0 where digits would not come back as they
// are, as in "007".
std::size_t SplitNumber(std::string_view cell, std::size_t begin, SplitCell& split) {
  const std::size_t whole = DigitsAt(cell, begin);
  if (whole == 0 || whole > kMaxDigits || (whole > 1 && cell[begin] == '0')) {
    return 0;
  }
  const std::size_t point = begin + whole;
  std::size_t decimals = point < cell.size() && cell[point] == '.' ? DigitsAt(cell, point + 1) : 0;
  decimals = decimals > kMaxDecimals || whole + decimals > kMaxDigits ? 0 : decimals;
  const std::size_t length = decimals == 0 ? whole : whole + 1 + decimals;
  std::uint64_t number = 0;
  for (const char c : cell.substr(begin, length)) {
    number = IsDigit(c) ? 10 * number + static_cast<std::uint64_t>(c - '0') : number;
  }
  split.pattern += {kNumberMark, static_cast<char>('0' + decimals)};
  split.numbers.push_back(number);
  return length;
}

void AppendNumber(std::uint64_t number, int decimals, std::string& out) {
  std::uint64_t scale = 1;
  for (int i = 0; i < decimals; ++i) {
    scale *= 10;
  }
  out += fmt::format("{}", number / scale);
  if (decimals > 0) {
    out += fmt::format(".{:0{}}", number % scale, decimals);
  }
}

}  // namespace

SplitCell SplitNumbers(std::string_view cell) {
  SplitCell split;
  std::size_t place = 0;
  while (place < cell.size()) {
    const std::size_t digits = DigitsAt(cell, place);
    const std::size_t number = SplitNumber(cell, place, split);
    const std::size_t text = number > 0 ? 0 : std::max<std::size_t>(1, digits);
    split.pattern += cell.substr(place, text);
    place += number + text;
  }
  return split;
}

int CountNumbers(std::string_view pattern) {
  int count = 0;
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    if (pattern[i] != kNumberMark) {
      continue;
    }
    ++i;
    if (i == pattern.size() || !IsDigit(pattern[i])) {
      return -1;
    }
    ++count;
  }
  return count;
}

std::string JoinNumbers(const SplitCell& cell) {
  std::string text;
  auto number = cell.numbers.begin();
  for (std::size_t i = 0; i < cell.pattern.size(); ++i) {
    if (cell.pattern[i] == kNumberMark) {
      ++i;
      AppendNumber(*number, cell.pattern[i] - '0', text);
      ++number;
    } else {
      text += cell.pattern[i];
    }
  }
  return text;
}

}  // namespace orrery
