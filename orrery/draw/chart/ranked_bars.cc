#include "orrery/draw/chart/ranked_bars.h"

#include <algorithm>
#include <cstddef>

#include "orrery/draw/chart/axis.h"
#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/chart/svg_writer.h"
#include "orrery/draw/text_table.h"

namespace orrery::draw {
namespace {

constexpr double kNameWidth = 420;
constexpr std::size_t kNameLetters = 50;  // of the wider of common fonts
constexpr double kNoteWidth = 150;
constexpr double kRowHeight = 26;
constexpr double kBarHeight = 18;

double LargestOf(const RankedBars& chart) {
  double largest = 0;
  for (const RankedBar& bar : chart.bars) {
    largest = std::max(largest, bar.value);
  }
  return largest > 0 ? largest : 1;
}

void DrawBar(const RankedBars& chart, const RankedBar& bar, const Scale& scale, double top,
             SvgWriter& svg) {
  const double middle = top + kBarHeight / 2 + 4;
  const double end = scale(bar.value);
  svg.Text({scale.first - 8, middle}, Truncated(bar.label, kNameLetters),
           {.style = "label", .anchor = Anchor::kEnd});
  svg.Rect({.x = scale.first, .y = top, .width = end - scale.first, .height = kBarHeight},
           {.style = chart.series.style, .tip = bar.tip});
  svg.Text({end + 8, middle}, bar.note);
}

}  // namespace

std::string RenderRankedBars(const RankedBars& chart) {
  if (chart.bars.empty()) {
    return {};
  }
  const Box plot{.x = kNameWidth,
                 .y = 4,
                 .width = kChartWidth - kNameWidth - kNoteWidth,
                 .height = kRowHeight * static_cast<double>(chart.bars.size())};
  const Scale scale{.low = 0, .high = LargestOf(chart), .first = plot.x, .last = plot.right()};
  SvgWriter svg(kChartWidth, plot.bottom() + kAxisHeight, chart.description);
  DrawHorizontalAxis({.scale = scale, .quantity = chart.quantity, .max_ticks = 6}, plot, svg);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    DrawBar(chart, chart.bars[i], scale, plot.y + kRowHeight * static_cast<double>(i) + 4, svg);
  }
  return svg.Finish();
}

}  // namespace orrery::draw
