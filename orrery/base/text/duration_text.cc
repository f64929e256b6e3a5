#include "orrery/base/text/duration_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

#include <fmt/core.h>

#include "orrery/base/error.h"
#include "orrery/base/text/text.h"

namespace orrery {
namespace {

constexpr double kMinute = 60;
constexpr double kHour = 60 * kMinute;
constexpr double kDay = 24 * kHour;

constexpr std::array<std::pair<std::string_view, double>, 6> kUnits{
    {{"ms", 1e-3}, {"s", 1}, {"m", kMinute}, {"min", kMinute}, {"h", kHour}, {"d", kDay}}};

}  // namespace

Result<double> ParseSeconds(std::string_view text) {
  const std::string_view trimmed = Trimmed(text);
  double number = 0;
  const auto [end, error] =
      std::from_chars(trimmed.data(), trimmed.data() + trimmed.size(), number);
  if (error == std::errc{} && std::isfinite(number) && number >= 0) {
    const auto unit = Trimmed(trimmed.substr(static_cast<std::size_t>(end - trimmed.data())));
    for (const auto& [name, seconds] : kUnits) {
      if (unit == name) {
        return number * seconds;
      }
    }
  }
  return Invalid("'{}' is not a time; write a number with ms, s, m, h or d, such as 30s, 8m or 20d",
                 text);
}

std::string SecondsText(double seconds) {
  if (seconds >= 2 * kDay) {
    return fmt::format("{:.3g} d", seconds / kDay);
  }
  if (seconds >= 2 * kHour) {
    return fmt::format("{:.3g} h", seconds / kHour);
  }
  if (seconds >= 2 * kMinute) {
    return fmt::format("{:.3g} min", seconds / kMinute);
  }
  return seconds >= 1 || seconds == 0 ? fmt::format("{:.3g} s", seconds)
                                      : fmt::format("{:.3g} ms", seconds * 1e3);
}

}  // namespace orrery
