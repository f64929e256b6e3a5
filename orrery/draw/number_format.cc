#include "orrery/draw/number_format.h"

#include <array>
#include <cmath>
#include <span>
#include <string_view>

#include <fmt/core.h>

namespace orrery::draw {
namespace {

struct Scale {
  double base = 1'000;
  std::span<const std::string_view> units;  // each is `base` of the one before
};

constexpr std::array<std::string_view, 4> kTimeUnits{"ns", "µs", "ms", "s"};
constexpr std::array<std::string_view, 7> kByteUnits{"B", "kB", "MB", "GB", "TB", "PB", "EB"};
constexpr std::array<std::string_view, 7> kBinaryUnits{"B",   "KiB", "MiB", "GiB",
                                                       "TiB", "PiB", "EiB"};
constexpr std::array<std::string_view, 7> kRateUnits{"B/s",  "kB/s", "MB/s", "GB/s",
                                                     "TB/s", "PB/s", "EB/s"};

// The limits are those at which rounding would add a digit.
std::string ThreeDigits(double value) {
  const double size = std::abs(value);
  if (size < 9.995) {
    return fmt::format("{:.2f}", value);
  }
  return size < 99.95 ? fmt::format("{:.1f}", value) : FormatCount(std::llround(value));
}

std::string FormatScaled(double value, const Scale& scale) {
  if (!std::isfinite(value)) {
    return "unknown";
  }
  std::size_t unit = 0;
  while (std::abs(value) >= scale.base - 0.5 && unit + 1 < scale.units.size()) {
    value /= scale.base;
    ++unit;
  }
  // The smallest unit has no parts.
  const std::string digits = unit == 0 ? FormatCount(std::llround(value)) : ThreeDigits(value);
  return fmt::format("{} {}", digits, scale.units[unit]);
}

}  // namespace

std::string FormatCount(std::int64_t count) {
  std::string digits = fmt::format("{}", count);
  const std::size_t first = count < 0 ? 1 : 0;
  for (std::size_t end = digits.size(); end > first + 3; end -= 3) {
    digits.insert(end - 3, 1, ',');
  }
  return digits;
}

std::string FormatDuration(Duration duration) {
  return FormatScaled(static_cast<double>(duration.nanoseconds),
                      {.base = 1'000, .units = kTimeUnits});
}

std::string FormatBytes(Bytes size) {
  return FormatScaled(static_cast<double>(size.count), {.base = 1'000, .units = kByteUnits});
}

std::string FormatBinaryBytes(Bytes size) {
  return FormatScaled(static_cast<double>(size.count), {.base = 1'024, .units = kBinaryUnits});
}

std::string FormatBandwidth(Bandwidth rate) {
  return FormatScaled(rate.bytes_per_second, {.base = 1'000, .units = kRateUnits});
}

}  // namespace orrery::draw
