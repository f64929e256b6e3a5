#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace orrery {

/// In the pattern of a cell a number is this and a digit that says how many of the number's digits
/// are behind its point.
inline constexpr char kNumberMark = '\0';

/// A cell as its pattern and its numbers: "m=16 us=1.25" is "m=", 16, " us=", 125.
struct SplitCell {
  std::string pattern;
  std::vector<std::uint64_t> numbers;
};

/// Digits that a number would not give back, as in "007", stay in the pattern. The cell has no zero
/// bytes.
[[nodiscard]] SplitCell SplitNumbers(std::string_view cell);

/// Returns how many numbers a pattern has, or -1 for one that SplitNumbers does not make.
[[nodiscard]] int CountNumbers(std::string_view pattern);

/// Returns the cell; the pattern has as many numbers as there are.
[[nodiscard]] std::string JoinNumbers(const SplitCell& cell);

}  // namespace orrery
