#include "orrery/draw/chart/stacked_bars.h"

#include <algorithm>
#include <numeric>

#include <fmt/core.h>

#include "orrery/base/check.h"
#include "orrery/draw/chart/axis.h"
#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/chart/row_layout.h"
#include "orrery/draw/chart/svg_writer.h"

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

double LargestTotal(const StackedBars& chart) {
  double largest = 0;
  for (const StackedBar& bar : chart.bars) {
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

}  // namespace

std::string RenderStackedBars(const StackedBars& chart) {
  const double label_width = LabelWidthFor(LabelsOf(chart));
  const Box plot{.x = label_width,
                 .y = 4,
                 .width = kChartWidth - label_width - kNoteWidth,
                 .height = HeightOf(chart)};
  const Scale scale{.low = 0, .high = LargestTotal(chart), .first = plot.x, .last = plot.right()};
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

}  // namespace orrery::draw
