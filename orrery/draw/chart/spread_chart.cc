#include "orrery/draw/chart/spread_chart.h"

#include <algorithm>

#include <fmt/core.h>

#include "orrery/draw/chart/axis.h"
#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/chart/svg_writer.h"

namespace orrery::draw {
namespace {

constexpr double kRowHeight = 34;
constexpr double kBarHeight = 20;
constexpr double kCapHeight = 12;
constexpr double kNameWidth = 172;
constexpr double kNoteWidth = 340;

std::string TipOf(const Spread& row, Quantity quantity) {
  return fmt::format("{}\nsmallest {}\nlower quartile {}\nmedian {}\nupper quartile {}\nlargest {}",
                     row.series.name, QuantityText(row.smallest, quantity),
                     QuantityText(row.lower_quartile, quantity), QuantityText(row.median, quantity),
                     QuantityText(row.upper_quartile, quantity),
                     QuantityText(row.largest, quantity));
}

void DrawRow(const Spread& row, const SpreadChart& chart, const Scale& scale, double middle,
             SvgWriter& svg) {
  svg.Text({scale.first - 12, middle + 4}, row.series.name,
           {.style = "label", .anchor = Anchor::kEnd});
  svg.Rect({.x = scale.first,
            .y = middle - kBarHeight / 2,
            .width = scale(row.median) - scale.first,
            .height = kBarHeight},
           {.style = row.series.style, .tip = TipOf(row, chart.quantity)});
  svg.Line({scale(row.smallest), middle}, {scale(row.largest), middle}, "whisker");
  svg.Line({scale(row.lower_quartile), middle}, {scale(row.upper_quartile), middle}, "half");
  for (const double end : {row.smallest, row.largest}) {
    svg.Line({scale(end), middle - kCapHeight / 2}, {scale(end), middle + kCapHeight / 2},
             "whisker");
  }
  svg.Text({kChartWidth - kNoteWidth + 22, middle + 4}, row.note);
}

}  // namespace

std::string RenderSpreadChart(const SpreadChart& chart) {
  double largest = 0;
  for (const Spread& row : chart.rows) {
    largest = std::max(largest, row.largest);
  }
  const Box plot{.x = kNameWidth,
                 .y = 4,
                 .width = kChartWidth - kNameWidth - kNoteWidth,
                 .height = kRowHeight * static_cast<double>(chart.rows.size())};
  const Scale scale{
      .low = 0, .high = largest > 0 ? largest : 1, .first = plot.x, .last = plot.right()};
  SvgWriter svg(kChartWidth, plot.bottom() + kAxisHeight, chart.description);
  DrawHorizontalAxis({.scale = scale, .quantity = chart.quantity}, plot, svg);
  double middle = plot.y + kRowHeight / 2;
  for (const Spread& row : chart.rows) {
    DrawRow(row, chart, scale, middle, svg);
    middle += kRowHeight;
  }
  return svg.Finish();
}

}  // namespace orrery::draw
