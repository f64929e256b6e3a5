#pragma once

#include <charconv>
#include <string_view>
#include <vector>

namespace orrery {

/// Reads the unsigned integers out of "[0, 1, ..., 63]", whatever stands between them.
template <typename T>
[[nodiscard]] std::vector<T> NumbersIn(std::string_view text) {
  std::vector<T> numbers;
  const char* position = text.data();
  const char* const end = position + text.size();
  while (position != end) {
    if (*position < '0' || *position > '9') {
      ++position;
      continue;
    }
    T number = 0;
    const auto parsed = std::from_chars(position, end, number);
    numbers.push_back(number);
    position = parsed.ptr;
  }
  return numbers;
}

}  // namespace orrery
