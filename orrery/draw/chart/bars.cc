#include <algorithm>
#include <cstddef>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"

namespace orrery::draw {
namespace {

constexpr double kRowHeight = 30;
constexpr double kBarHeight = 22;
constexpr double kRoomApart = 14;
constexpr double kNoteWidth = 84;
constexpr double kRoomForShare = 44;
constexpr double kWholeBar = 99.95;  // percent

double Total(const StackedBar& bar) {
  return std::accumulate(bar.values.begin(), bar.values.end(), 0.0);
}

double HeightOf(const StackedBar& bar) {
  return bar.stands_apart ? kRowHeight + kRoomApart : kRowHeight;
}

double HeightOf(const StackedBars& chart) {
  double height = 0;
  for (const StackedBar& bar : chart.bars) {
    height += HeightOf(bar);
  }
  return height;
}

double LargestTotal(const std::vector<StackedBar>& bars) {
  double largest = 0;
  for (const StackedBar& bar : bars) {
    largest = std::max(largest, Total(bar));
  }
  return largest > 0 ? largest : 1;
}

std::string TipOf(const StackedBars& chart, const StackedBar& bar, std::size_t part) {
  const double total = Total(bar);
  return fmt::format("{} · {}\n{} ({:.1f} %)", bar.label, chart.series[part].name,
                     QuantityText(bar.values[part], chart.quantity),
                     total > 0 ? 100 * bar.values[part] / total : 0.0);
}

// The only part of a bar needs no share: it would say 100 % on each.
void DrawShare(const Series& series, const Box& box, double share, SvgWriter& svg) {
  if (box.width >= kRoomForShare && share < kWholeBar) {
    svg.Text({box.x + box.width / 2, box.y + box.height / 2 + 4}, fmt::format("{:.0f} %", share),
             {.style = "on-" + series.style, .anchor = Anchor::kMiddle});
  }
}

void DrawBar(const StackedBars& chart, const StackedBar& bar, const Scale& scale, double top,
             SvgWriter& svg) {
  ORRERY_CHECK(bar.values.size() == chart.series.size(), "a bar has a value for each series");
  svg.Text({scale.first - 10, top + kBarHeight / 2 + 4}, FittedLabel(bar.label),
           {.style = "label", .anchor = Anchor::kEnd});
  const double total = Total(bar);
  double sum = 0;
  for (std::size_t part = 0; part < bar.values.size(); ++part) {
    const double left = scale(sum);
    sum += bar.values[part];
    if (!(bar.values[part] > 0)) {
      continue;
    }
    const Box box{.x = left, .y = top, .width = scale(sum) - left, .height = kBarHeight};
    svg.Rect(box, {.style = chart.series[part].style, .tip = TipOf(chart, bar, part)});
    DrawShare(chart.series[part], box, 100 * bar.values[part] / total, svg);
  }
  svg.Text({scale(sum) + 8, top + kBarHeight / 2 + 4}, bar.note);
}

std::vector<std::string> LabelsOf(const StackedBars& chart) {
  std::vector<std::string> labels;
  for (const StackedBar& bar : chart.bars) {
    labels.push_back(bar.label);
  }
  return labels;
}

constexpr double kPlotHeight = 220;
constexpr double kRoomAbove = 6;
constexpr double kRoomForRoof = 20;
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

constexpr double kLongNameWidth = 420;
constexpr std::size_t kNameLetters = 50;  // of the wider of common fonts
constexpr double kShortNoteWidth = 150;
constexpr double kRankedRowHeight = 26;
constexpr double kRankedBarHeight = 18;

void DrawBar(const RankedBars& chart, const RankedBar& bar, const Scale& scale, double top,
             SvgWriter& svg) {
  const double middle = top + kRankedBarHeight / 2 + 4;
  const double end = scale(bar.value);
  svg.Text({scale.first - 8, middle}, Truncated(bar.label, kNameLetters),
           {.style = "label", .anchor = Anchor::kEnd});
  svg.Rect({.x = scale.first, .y = top, .width = end - scale.first, .height = kRankedBarHeight},
           {.style = bar.style.empty() ? chart.series.style : bar.style, .tip = bar.tip});
  svg.Text({end + 8, middle}, bar.note);
}

constexpr double kSpreadRowHeight = 34;
constexpr double kSpreadBarHeight = 20;
constexpr double kCapHeight = 12;
constexpr double kNameWidth = 172;
constexpr double kSpreadNoteWidth = 340;

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
            .y = middle - kSpreadBarHeight / 2,
            .width = scale(row.median) - scale.first,
            .height = kSpreadBarHeight},
           {.style = row.series.style, .tip = TipOf(row, chart.quantity)});
  svg.Line({scale(row.smallest), middle}, {scale(row.largest), middle}, "whisker");
  svg.Line({scale(row.lower_quartile), middle}, {scale(row.upper_quartile), middle}, "half");
  for (const double end : {row.smallest, row.largest}) {
    svg.Line({scale(end), middle - kCapHeight / 2}, {scale(end), middle + kCapHeight / 2},
             "whisker");
  }
  svg.Text({kChartWidth - kSpreadNoteWidth + 22, middle + 4}, row.note);
}

}  // namespace

std::string RenderStackedBars(const StackedBars& chart) {
  const double label_width = LabelWidthFor(LabelsOf(chart));
  const Box plot{.x = label_width,
                 .y = 4,
                 .width = kChartWidth - label_width - kNoteWidth,
                 .height = HeightOf(chart)};
  const Scale scale{
      .low = 0, .high = LargestTotal(chart.bars), .first = plot.x, .last = plot.right()};
  SvgWriter svg(kChartWidth, plot.bottom() + (chart.has_axis ? kAxisHeight : 0), chart.description);
  if (chart.has_axis) {
    DrawHorizontalAxis({.scale = scale, .quantity = chart.quantity}, plot, svg);
  }
  double top = plot.y + (kRowHeight - kBarHeight) / 2;
  for (const StackedBar& bar : chart.bars) {
    DrawBar(chart, bar, scale, top, svg);
    top += HeightOf(bar);
  }
  return svg.Finish();
}

std::string RenderStackedColumns(const StackedBars& chart, std::size_t max_columns) {
  const std::size_t bin =
      std::max<std::size_t>(1, (chart.bars.size() + max_columns - 1) / max_columns);
  std::vector<StackedBar> columns;
  for (std::size_t first = 0; first < chart.bars.size(); first += bin) {
    columns.push_back(MeanOf(chart, first, std::min(first + bin, chart.bars.size())));
  }
  const Box plot{.x = kLabelWidth,
                 .y = chart.roof_label.empty() ? kRoomAbove : kRoomForRoof,
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
  const double highest = std::max(LargestTotal(columns), chart.roof);
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
  if (!chart.roof_label.empty()) {
    const double y = up(chart.roof);
    svg.Line({plot.x, y}, {plot.right(), y}, "roof");
    svg.Text({plot.right() - 6, y - 6}, chart.roof_label,
             {.style = "roof-label", .anchor = Anchor::kEnd});
  }
  return svg.Finish();
}

std::string RenderRankedBars(const RankedBars& chart) {
  if (chart.bars.empty()) {
    return {};
  }
  const double largest = std::ranges::max(chart.bars, {}, &RankedBar::value).value;
  const Box plot{.x = kLongNameWidth,
                 .y = 4,
                 .width = kChartWidth - kLongNameWidth - kShortNoteWidth,
                 .height = kRankedRowHeight * static_cast<double>(chart.bars.size())};
  const Scale scale{
      .low = 0, .high = largest > 0 ? largest : 1, .first = plot.x, .last = plot.right()};
  SvgWriter svg(kChartWidth, plot.bottom() + kAxisHeight, chart.description);
  DrawHorizontalAxis({.scale = scale, .quantity = chart.quantity, .max_ticks = 6}, plot, svg);
  for (std::size_t i = 0; i < chart.bars.size(); ++i) {
    DrawBar(chart, chart.bars[i], scale, plot.y + kRankedRowHeight * static_cast<double>(i) + 4,
            svg);
  }
  return svg.Finish();
}

std::string RenderSpreadChart(const SpreadChart& chart) {
  double largest = 0;
  for (const Spread& row : chart.rows) {
    largest = std::max(largest, row.largest);
  }
  const Box plot{.x = kNameWidth,
                 .y = 4,
                 .width = kChartWidth - kNameWidth - kSpreadNoteWidth,
                 .height = kSpreadRowHeight * static_cast<double>(chart.rows.size())};
  const Scale scale{
      .low = 0, .high = largest > 0 ? largest : 1, .first = plot.x, .last = plot.right()};
  SvgWriter svg(kChartWidth, plot.bottom() + kAxisHeight, chart.description);
  DrawHorizontalAxis({.scale = scale, .quantity = chart.quantity}, plot, svg);
  double middle = plot.y + kSpreadRowHeight / 2;
  for (const Spread& row : chart.rows) {
    DrawRow(row, chart, scale, middle, svg);
    middle += kSpreadRowHeight;
  }
  return svg.Finish();
}

}  // namespace orrery::draw
