#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/base/text/parse_number.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/format.h"

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

std::string NumberText(double value, int digits = 3) {
  const bool is_whole = std::abs(value) < 1e15 && value == std::floor(value);
  return is_whole ? FormatCount(std::llround(value)) : fmt::format("{:.{}g}", value, digits);
}

// The least with which no tick is rounded by as much as a part of the distance between ticks.
int DigitsFor(const std::vector<double>& ticks) {
  constexpr int kFewest = 3;
  constexpr int kMost = 9;
  const double slack = 1e-3 * std::abs(ticks[1] - ticks[0]);
  int digits = kFewest;
  while (digits < kMost && std::ranges::any_of(
                               ticks,
                               [&](double tick) {
                                 const auto shown =
                                     ParseWhole<double>(fmt::format("{:.{}g}", tick, digits));
                                 return std::abs(shown.value_or(tick) - tick) > slack;
                               })) {
    ++digits;
  }
  return digits;
}

bool HasRepeated(const std::vector<std::string>& texts) {
  return std::ranges::adjacent_find(texts) != texts.end();
}

// With as many digits as tell neighbours apart.
std::vector<std::string> GibibyteTexts(const std::vector<double>& ticks) {
  constexpr double kGibibyte = 1 << 30;
  constexpr int kMost = 9;
  std::vector<std::string> texts(ticks.size());
  for (int digits = 4; digits <= kMost && HasRepeated(texts); ++digits) {
    std::ranges::transform(ticks, texts.begin(), [&](double tick) {
      return fmt::format("{:.{}g} GiB", tick / kGibibyte, digits);
    });
  }
  return texts;
}

constexpr double kTickGap = 16;   // from the plot's edge to the baseline of a tick text
constexpr double kTitleGap = 36;  // … of the title
constexpr double kTickRise = 4;   // from the middle of a text to its baseline

constexpr double kWantedHeight = 560;
constexpr double kTallest = 26;
constexpr double kThinnest = 2;
constexpr std::size_t kMaxRows = 280;
constexpr double kLabelHeight = 16.5;
constexpr double kLetterWidth = 7;
constexpr double kLabelGap = 14;
constexpr double kWidestLabels = 280;
constexpr double kHighestBaseline = 12;  // of a text that is not cut by the border

// Letters, not bytes: those that continue a letter of UTF-8 do not count.
double NumLetters(const std::string& text) {
  return static_cast<double>(
      std::ranges::count_if(text, [](char byte) { return (byte & 0xc0) != 0x80; }));
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

std::vector<std::string> TickTexts(const std::vector<double>& ticks, Quantity quantity) {
  const bool is_number = quantity == Quantity::kNumber && ticks.size() > 1;
  const int digits = is_number ? DigitsFor(ticks) : 0;
  std::vector<std::string> texts;
  for (const double tick : ticks) {
    texts.push_back(is_number ? NumberText(tick, digits) : TickText(tick, quantity));
  }
  return quantity == Quantity::kBinaryBytes && HasRepeated(texts) ? GibibyteTexts(ticks) : texts;
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
  const double first = std::ceil(low / step.Times(1) - slack);
  for (int i = 0; first + i <= last; ++i) {
    ticks.push_back(step.Times(first + i) + 0.0);  // no minus in front of a zero
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
  const double first = std::ceil(low / step);
  for (int i = 0; (first + i) * step <= high; ++i) {
    ticks.push_back((first + i) * step);
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

double Scale::operator()(double value) const {
  if (!(high > low)) {
    return (first + last) / 2;
  }
  const double share = kind == Kind::kLinear ? (value - low) / (high - low)
                                             : std::log(value / low) / std::log(high / low);
  return first + share * (last - first);
}

std::vector<double> Axis::Ticks() const {
  if (scale.kind == Scale::Kind::kLog) {
    return LogTicks(scale.low, scale.high, max_ticks);
  }
  return quantity == Quantity::kBinaryBytes ? BinaryTicks(scale.low, scale.high, max_ticks)
                                            : LinearTicks(scale.low, scale.high, max_ticks);
}

void DrawHorizontalAxis(const Axis& axis, const Box& plot, SvgWriter& svg) {
  const std::vector<double> ticks = axis.Ticks();
  const std::vector<std::string> texts = TickTexts(ticks, axis.quantity);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double x = axis.scale(ticks[i]);
    svg.Line({x, plot.y}, {x, plot.bottom()}, "grid");
    svg.Text({x, plot.bottom() + kTickGap}, texts[i], {.anchor = Anchor::kMiddle});
  }
  if (!axis.title.empty()) {
    svg.Text({plot.x + plot.width / 2, plot.bottom() + kTitleGap}, axis.title,
             {.style = "axis-title", .anchor = Anchor::kMiddle});
  }
}

void DrawVerticalAxis(const Axis& axis, const Box& plot, SvgWriter& svg) {
  const std::vector<double> ticks = axis.Ticks();
  const std::vector<std::string> texts = TickTexts(ticks, axis.quantity);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double y = axis.scale(ticks[i]);
    svg.Line({plot.x, y}, {plot.right(), y}, "grid");
    svg.Text({plot.x - 8, y + kTickRise}, texts[i], {.anchor = Anchor::kEnd});
  }
  if (!axis.title.empty()) {
    svg.Text({0, plot.y - 12}, axis.title, {.style = "axis-title"});
  }
}

void AddHoverAlongX(const Scale& scale, Quantity quantity, SvgWriter& svg) {
  svg.Attribute("data-x",
                fmt::format("{:.1f} {:.1f} {} {} {}", scale.first, scale.last, scale.low,
                            scale.high, quantity == Quantity::kNanoseconds ? "ns" : "number"));
}

RowLayout RowLayout::For(std::size_t num_items) {
  RowLayout layout{.num_items = num_items};
  layout.items_per_row = std::max<std::size_t>(1, (num_items + kMaxRows - 1) / kMaxRows);
  const auto rows = static_cast<double>(std::max<std::size_t>(1, layout.num_rows()));
  // Whole pixels, so that all rows look alike.
  layout.pitch =
      std::clamp(static_cast<double>(static_cast<int>(kWantedHeight / rows)), kThinnest, kTallest);
  layout.gap = layout.pitch >= 12 ? 4 : layout.pitch >= 5 ? 1 : 0;
  return layout;
}

std::size_t RowLayout::LabelEvery() const {
  std::size_t every = 1;
  while (pitch * static_cast<double>(every) < kLabelHeight) {
    every *= 2;
  }
  return every;
}

std::string FittedLabel(const std::string& label) {
  constexpr auto kMostLetters =
      static_cast<std::size_t>((kWidestLabels - kLabelGap) / kLetterWidth);
  return Truncated(label, kMostLetters);
}

double LabelWidthFor(const std::vector<std::string>& labels) {
  double longest = 0;
  for (const std::string& label : labels) {
    longest = std::max(longest, NumLetters(label));
  }
  return std::clamp(longest * kLetterWidth + kLabelGap, kLabelWidth, kWidestLabels);
}

void DrawRowLabels(const RowLayout& layout, const std::vector<std::string>& labels, const Box& plot,
                   SvgWriter& svg) {
  for (std::size_t row = 0; row < layout.num_rows(); row += layout.LabelEvery()) {
    const double middle = plot.y + layout.TopOf(row) + (layout.pitch - layout.gap) / 2;
    svg.Text({plot.x - 10, std::max(middle + 4, kHighestBaseline)},
             FittedLabel(labels[row * layout.items_per_row]),
             {.style = "label", .anchor = Anchor::kEnd});
  }
}

void AddHoverAlongRows(const RowLayout& layout, const std::vector<std::string>& labels,
                       const Box& plot, SvgWriter& svg) {
  std::string names;
  for (std::size_t row = 0; row < layout.num_rows(); ++row) {
    names += (row == 0 ? "" : "|") + LabelOfRow(layout, labels, row);
  }
  svg.Attribute("data-rows", fmt::format("{:.1f} {:.1f}", plot.y, layout.pitch));
  svg.Attribute("data-row-names", names);
}

std::string LabelOfRow(const RowLayout& layout, const std::vector<std::string>& labels,
                       std::size_t row) {
  const std::size_t first = row * layout.items_per_row;
  const std::size_t last = std::min(first + layout.items_per_row, labels.size()) - 1;
  return first == last ? labels[first] : fmt::format("{} to {}", labels[first], labels[last]);
}

}  // namespace orrery::draw
