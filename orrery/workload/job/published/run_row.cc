#include "orrery/workload/job/published/run_row.h"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <fmt/core.h>

#include "orrery/base/text/text.h"

namespace orrery::workload {

bool Mentions(std::string_view text, std::string_view word) {
  return LowerCase(text).find(LowerCase(word)) != std::string::npos;
}

std::string RunRow::Text(std::string_view column) const {
  if (const auto text = table_.Text(row_, column)) {
    return std::string(*text);
  }
  if (const auto number = table_.Integer(row_, column)) {
    return std::to_string(*number);
  }
  const auto number = table_.Number(row_, column);
  return number ? fmt::format("{:g}", *number) : std::string();
}

std::optional<std::int64_t> RunRow::Integer(std::string_view column) const {
  const auto number = Number(column);
  return number ? std::optional(std::llround(*number)) : std::nullopt;
}

int RunRow::Degree(std::string_view column) const {
  constexpr std::int64_t kMost = 1 << 20;
  return static_cast<int>(std::clamp<std::int64_t>(Integer(column).value_or(1), 1, kMost));
}

}  // namespace orrery::workload
