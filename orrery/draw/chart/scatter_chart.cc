#include "orrery/draw/chart/scatter_chart.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include <fmt/core.h>

#include "orrery/draw/chart/axis.h"
#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/chart/marker.h"
#include "orrery/draw/chart/svg_writer.h"

namespace orrery::draw {
namespace {

constexpr double kPlotHeight = 320;
constexpr double kMargin = 1.6;  // factor between the outermost points and the frame
constexpr std::size_t kMaxMarks = 2'000;
constexpr double kSmallestMark = 5;
constexpr double kLargestMark = 10;

// Points of one series in one cell of the plot: their mean place and their number.
struct Cluster {
  double sum_x = 0;
  double sum_y = 0;
  ScatterPoint first;
  std::size_t count = 0;
};

using Cell = std::tuple<std::size_t, long, long>;  // series, column, row
using Clusters = std::map<Cell, Cluster>;

struct Frame {
  Box plot;
  Scale x;
  Scale y;
};

Frame FrameOf(const ScatterChart& chart) {
  double x_low = chart.points.front().x;
  double x_high = x_low;
  double y_low = chart.points.front().y;
  double y_high = y_low;
  for (const ScatterPoint& point : chart.points) {
    x_low = std::min(x_low, point.x);
    x_high = std::max(x_high, point.x);
    y_low = std::min(y_low, point.y);
    y_high = std::max(y_high, point.y);
  }
  for (const ScatterLine& line : chart.lines) {
    y_low = std::min(y_low, line.y);
    y_high = std::max(y_high, line.y);
  }
  const Box plot{.x = kLabelWidth,
                 .y = 30,
                 .width = kChartWidth - kLabelWidth - kRightMargin,
                 .height = kPlotHeight};
  const auto log = Scale::Kind::kLog;
  return {.plot = plot,
          .x = {log, x_low / kMargin, x_high * kMargin, plot.x, plot.right()},
          .y = {log, y_low / kMargin, y_high * kMargin, plot.bottom(), plot.y}};
}

Clusters ClustersOf(const ScatterChart& chart, const Frame& frame, double cell_size) {
  Clusters clusters;
  for (const ScatterPoint& point : chart.points) {
    const double x = frame.x(point.x);
    const double y = frame.y(point.y);
    Cluster& cluster =
        clusters[{point.series, std::lround(x / cell_size), std::lround(y / cell_size)}];
    cluster.sum_x += x;
    cluster.sum_y += y;
    cluster.first = cluster.count++ == 0 ? point : cluster.first;
  }
  return clusters;
}

Clusters BoundedClusters(const ScatterChart& chart, const Frame& frame) {
  for (double cell_size = 3;; cell_size *= 1.5) {
    Clusters clusters = ClustersOf(chart, frame, cell_size);
    if (clusters.size() <= kMaxMarks) {
      return clusters;
    }
  }
}

std::string TipOf(const ScatterChart& chart, const Cluster& cluster) {
  const std::string about = cluster.count > 1 ? fmt::format("\n{} such points", cluster.count) : "";
  return fmt::format("{}\n{}\n{}{}", chart.series[cluster.first.series].name,
                     QuantityText(cluster.first.x, chart.x_quantity),
                     QuantityText(cluster.first.y, chart.y_quantity), about);
}

void DrawClusters(const ScatterChart& chart, const Clusters& clusters, SvgWriter& svg) {
  for (const auto& [cell, cluster] : clusters) {
    const auto count = static_cast<double>(cluster.count);
    const double radius = std::min(kLargestMark, kSmallestMark + 0.7 * std::log2(count));
    const std::size_t series = cluster.first.series;
    svg.Path(MarkerPath(series, {.x = cluster.sum_x / count, .y = cluster.sum_y / count}, radius),
             {.style = "dot " + chart.series[series].style, .tip = TipOf(chart, cluster)});
  }
}

// A text that would run into the one before, or out of the frame, goes under its line.
void DrawLines(const ScatterChart& chart, const Frame& frame, SvgWriter& svg) {
  std::vector<ScatterLine> lines = chart.lines;
  std::ranges::stable_sort(lines, std::greater{}, &ScatterLine::y);
  double last_text = frame.plot.y;
  for (const ScatterLine& line : lines) {
    const double y = frame.y(line.y);
    svg.Line({frame.plot.x, y}, {frame.plot.right(), y}, "roof");
    const double text = y - 6 - last_text >= 12 ? y - 6 : std::max(y + 15, last_text + 15);
    last_text = text;
    svg.Text({frame.plot.x + 8, text},
             fmt::format("{}, {}", line.label, QuantityText(line.y, chart.y_quantity)),
             {.style = "roof-label"});
  }
}

}  // namespace

std::string RenderScatter(const ScatterChart& chart) {
  if (chart.points.empty()) {
    return {};
  }
  const Frame frame = FrameOf(chart);
  SvgWriter svg(kChartWidth, frame.plot.bottom() + kAxisHeight + kTitleHeight, chart.description);
  DrawVerticalAxis(
      {.scale = frame.y, .quantity = chart.y_quantity, .title = chart.y_title, .max_ticks = 10},
      frame.plot, svg);
  DrawHorizontalAxis(
      {.scale = frame.x, .quantity = chart.x_quantity, .title = chart.x_title, .max_ticks = 14},
      frame.plot, svg);
  DrawClusters(chart, BoundedClusters(chart, frame), svg);
  DrawLines(chart, frame, svg);
  return svg.Finish();
}

std::vector<Series> ScatterLegend(const ScatterChart& chart) {
  std::vector<Series> entries = chart.series;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].swatch = MarkerPath(i, {.x = 7, .y = 7}, 5.5);
  }
  return entries;
}

}  // namespace orrery::draw
