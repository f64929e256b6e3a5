#include "orrery/draw/chart/ticks.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/units.h"
#include "orrery/draw/number_format.h"

namespace orrery::draw {
namespace {

constexpr std::array<double, 3> kNiceFactors{1, 2, 5};

// Exact for the powers that a double can hold; std::pow need not be.
double PowerOfTen(int exponent) {
  double power = 1;
  for (int i = 0; i < std::abs(exponent); ++i) {
    power *= 10;
  }
  return exponent < 0 ? 1 / power : power;
}

struct NiceStep {
  double factor = 1;
  int exponent = 0;

  // Divides by a whole power where that is exact: 3 · 0.1 is not 0.3, and 3 / 10 is.
  [[nodiscard]] double Times(double count) const {
    return exponent < 0 ? count * factor / PowerOfTen(-exponent)
                        : count * factor * PowerOfTen(exponent);
  }
};

NiceStep SmallestStepAbove(double wanted) {
  // One below, so that rounding in log10 cannot skip a step.
  int exponent = static_cast<int>(std::floor(std::log10(wanted))) - 1;
  for (;; ++exponent) {
    for (const double factor : kNiceFactors) {
      const NiceStep step{.factor = factor, .exponent = exponent};
      if (step.Times(1) >= wanted) {
        return step;
      }
    }
  }
}

std::vector<double> TicksOfDecades(double low, double high, std::size_t factors_used) {
  std::vector<double> ticks;
  const int first = static_cast<int>(std::floor(std::log10(low)));
  const int last = static_cast<int>(std::ceil(std::log10(high)));
  for (int exponent = first; exponent <= last; ++exponent) {
    for (std::size_t i = 0; i < factors_used; ++i) {
      const double tick = NiceStep{.factor = kNiceFactors[i], .exponent = exponent}.Times(1);
      if (tick >= low && tick <= high) {
        ticks.push_back(tick);
      }
    }
  }
  return ticks;
}

std::vector<double> EveryNth(const std::vector<double>& ticks, std::size_t n) {
  std::vector<double> some;
  for (std::size_t i = 0; i < ticks.size(); i += n) {
    some.push_back(ticks[i]);
  }
  return some;
}

std::string NumberText(double value) {
  const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
  return is_whole ? FormatCount(std::llround(value)) : fmt::format("{:.3g}", value);
}

}  // namespace

std::string QuantityText(double value, Quantity quantity) {
  switch (quantity) {
    case Quantity::kNumber:
      return NumberText(value);
    case Quantity::kNanoseconds:
      return FormatDuration({std::llround(value)});
    case Quantity::kBytes:
      return FormatBytes({std::llround(value)});
    case Quantity::kBinaryBytes:
      return FormatBinaryBytes({std::llround(value)});
    case Quantity::kBytesPerSecond:
      return FormatBandwidth({value});
    case Quantity::kPercent:
      return fmt::format("{:.1f} %", value);
  }
  return {};
}

std::string TickText(double value, Quantity quantity) {
  if (value == 0 && quantity != Quantity::kPercent) {
    return "0";
  }
  std::string text = QuantityText(value, quantity);
  const std::size_t point = text.find('.');
  if (point == std::string::npos) {
    return text;
  }
  const std::size_t end = std::min(text.find(' ', point), text.size());
  std::size_t keep = text.find_last_not_of('0', end - 1);
  keep += text[keep] == '.' ? 0 : 1;
  return text.erase(keep, end - keep);
}

std::vector<double> LinearTicks(double low, double high, int max_ticks) {
  ORRERY_CHECK(max_ticks >= 2, "an axis has two ticks or more");
  if (!(high > low)) {
    return {low};
  }
  const NiceStep step = SmallestStepAbove((high - low) / (max_ticks - 1));
  std::vector<double> ticks;
  const double slack = 1e-9;  // of a step, for limits that are ticks but for rounding
  const double last = std::floor(high / step.Times(1) + slack);
  for (double count = std::ceil(low / step.Times(1) - slack); count <= last; ++count) {
    ticks.push_back(step.Times(count) + 0.0);  // no minus in front of a zero
  }
  return ticks;
}

std::vector<double> BinaryTicks(double low, double high, int max_ticks) {
  ORRERY_CHECK(max_ticks >= 2, "an axis has two ticks or more");
  if (!(high > low)) {
    return {low};
  }
  const double step = std::exp2(std::ceil(std::log2((high - low) / (max_ticks - 1))));
  std::vector<double> ticks;
  for (double count = std::ceil(low / step); count * step <= high; ++count) {
    ticks.push_back(count * step);
  }
  return ticks;
}

std::vector<double> LogTicks(double low, double high, int max_ticks) {
  ORRERY_CHECK(low > 0 && high >= low && max_ticks >= 2, "a logarithmic axis is above zero");
  const auto limit = static_cast<std::size_t>(max_ticks);
  for (std::size_t factors_used = kNiceFactors.size(); factors_used > 0; --factors_used) {
    std::vector<double> ticks = TicksOfDecades(low, high, factors_used);
    if (ticks.size() <= limit && factors_used != 2) {  // 1, 2, 10, 20 looks uneven
      return ticks;
    }
  }
  const std::vector<double> decades = TicksOfDecades(low, high, 1);
  return EveryNth(decades, (decades.size() + limit - 1) / limit);
}

}  // namespace orrery::draw
