#include "orrery/draw/chart/axis.h"

#include <cmath>
#include <string>

#include <fmt/core.h>

namespace orrery::draw {
namespace {

constexpr double kTickGap = 16;   // from the plot's edge to the baseline of a tick text
constexpr double kTitleGap = 36;  // … of the title
constexpr double kTickRise = 4;   // from the middle of a text to its baseline

std::string_view HoverName(Quantity quantity) {
  return quantity == Quantity::kNanoseconds ? "ns" : "number";
}

}  // namespace

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
  for (const double tick : axis.Ticks()) {
    const double x = axis.scale(tick);
    svg.Line({x, plot.y}, {x, plot.bottom()}, "grid");
    svg.Text({x, plot.bottom() + kTickGap}, TickText(tick, axis.quantity),
             {.anchor = Anchor::kMiddle});
  }
  if (!axis.title.empty()) {
    svg.Text({plot.x + plot.width / 2, plot.bottom() + kTitleGap}, axis.title,
             {.style = "axis-title", .anchor = Anchor::kMiddle});
  }
}

void DrawVerticalAxis(const Axis& axis, const Box& plot, SvgWriter& svg) {
  for (const double tick : axis.Ticks()) {
    const double y = axis.scale(tick);
    svg.Line({plot.x, y}, {plot.right(), y}, "grid");
    svg.Text({plot.x - 8, y + kTickRise}, TickText(tick, axis.quantity), {.anchor = Anchor::kEnd});
  }
  if (!axis.title.empty()) {
    svg.Text({0, plot.y - 12}, axis.title, {.style = "axis-title"});
  }
}

void AddHoverAlongX(const Scale& scale, Quantity quantity, SvgWriter& svg) {
  svg.Attribute("data-x", fmt::format("{:.1f} {:.1f} {} {} {}", scale.first, scale.last, scale.low,
                                      scale.high, HoverName(quantity)));
}

}  // namespace orrery::draw
