#include <algorithm>
#include <cstddef>

#include <fmt/core.h>

#include "orrery/draw/chart/axis.h"
#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/chart/svg_writer.h"

namespace orrery::draw {
namespace {

constexpr double kPlotHeight = 220;
constexpr double kRoomAbove = 6;
constexpr double kOverlap = 0.7;

// The mean of neighbours, named after the first and the last of them.
StackedBar MeanOf(const StackedBars& chart, std::size_t first, std::size_t end) {
  StackedBar mean = chart.bars[first];
  for (std::size_t bar = first + 1; bar < end; ++bar) {
    for (std::size_t part = 0; part < mean.values.size(); ++part) {
      mean.values[part] += chart.bars[bar].values[part];
    }
  }
  for (double& value : mean.values) {
    value /= static_cast<double>(end - first);
  }
  if (end - first > 1) {
    mean.label = fmt::format("{} to {}, mean", mean.label, chart.bars[end - 1].label);
  }
  return mean;
}

std::vector<StackedBar> Binned(const StackedBars& chart, std::size_t bin) {
  std::vector<StackedBar> columns;
  for (std::size_t first = 0; first < chart.bars.size(); first += bin) {
    columns.push_back(MeanOf(chart, first, std::min(first + bin, chart.bars.size())));
  }
  return columns;
}

double Tallest(const std::vector<StackedBar>& columns) {
  double tallest = 0;
  for (const StackedBar& column : columns) {
    double sum = 0;
    for (const double value : column.values) {
      sum += value;
    }
    tallest = std::max(tallest, sum);
  }
  return tallest > 0 ? tallest : 1;
}

void DrawColumn(const StackedBars& chart, const StackedBar& column, const Scale& scale,
                const Box& slot, SvgWriter& svg) {
  double sum = 0;
  for (std::size_t part = 0; part < column.values.size(); ++part) {
    const double bottom = scale(sum);
    sum += column.values[part];
    if (!(column.values[part] > 0)) {
      continue;
    }
    const Box box{.x = slot.x, .y = scale(sum), .width = slot.width, .height = bottom - scale(sum)};
    svg.Rect(box, {.style = chart.series[part].style,
                   .tip = fmt::format("{}\n{} {}", column.label, chart.series[part].name,
                                      QuantityText(column.values[part], chart.quantity))});
  }
}

void DrawRoof(const StackedBars& chart, const Scale& up, const Box& plot, SvgWriter& svg) {
  if (chart.roof_label.empty()) {
    return;
  }
  const double y = up(chart.roof);
  svg.Line({plot.x, y}, {plot.right(), y}, "roof");
  svg.Text({plot.right() - 6, y + 15}, chart.roof_label,
           {.style = "roof-label", .anchor = Anchor::kEnd});
}

}  // namespace

std::string RenderStackedColumns(const StackedBars& chart, std::size_t max_columns) {
  const std::size_t bin =
      std::max<std::size_t>(1, (chart.bars.size() + max_columns - 1) / max_columns);
  const std::vector<StackedBar> columns = Binned(chart, bin);
  const Box plot{.x = kLabelWidth,
                 .y = kRoomAbove,
                 .width = kChartWidth - kLabelWidth - kRightMargin,
                 .height = kPlotHeight};
  const Scale along{.low = 0,
                    .high = static_cast<double>(chart.bars.size()),
                    .first = plot.x,
                    .last = plot.right()};
  const Scale axis{.low = 0,
                   .high = chart.along_end > 0 ? chart.along_end : along.high,
                   .first = along.first,
                   .last = along.last};
  const double highest = std::max(Tallest(columns), chart.roof);
  const Scale up{.low = 0, .high = highest, .first = plot.bottom(), .last = plot.y};
  SvgWriter svg(kChartWidth, plot.bottom() + kAxisHeight + kTitleHeight, chart.description);
  svg.Attribute("shape-rendering", "crispEdges");
  DrawVerticalAxis({.scale = up, .quantity = chart.quantity, .max_ticks = 6}, plot, svg);
  DrawHorizontalAxis({.scale = axis,
                      .quantity = chart.along_quantity,
                      .title = chart.title_along,
                      .max_ticks = 12},
                     plot, svg);
  for (std::size_t column = 0; column < columns.size(); ++column) {
    const double left = along(static_cast<double>(column * bin));
    const double right =
        along(static_cast<double>(std::min((column + 1) * bin, chart.bars.size())));
    // Each lies a little under the next one, or rounding to pixels would leave gaps between them.
    const double width = column + 1 < columns.size() ? right - left + kOverlap : right - left;
    DrawColumn(chart, columns[column], up, {.x = left, .width = width}, svg);
  }
  DrawRoof(chart, up, plot, svg);
  return svg.Finish();
}

}  // namespace orrery::draw
