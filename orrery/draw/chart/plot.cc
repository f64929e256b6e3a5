#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <limits>
#include <map>
#include <string>
#include <tuple>
#include <vector>

#include <fmt/core.h>

#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"

namespace orrery::draw {
namespace {

constexpr double kPlotHeight = 280;
constexpr double kHeadroom = 1.12;  // above the highest value, for the label of a mark
constexpr double kMarkRadius = 5.5;

struct Frame {
  Box plot;
  Scale x;
  Scale y;
};

Box PlotBox(double height) {
  return {.x = kLabelWidth,
          .y = 30,
          .width = kChartWidth - kLabelWidth - kRightMargin,
          .height = height};
}

void DrawLevel(const Frame& frame, double y, double text_y, const std::string& label,
               SvgWriter& svg) {
  svg.Line({frame.plot.x, y}, {frame.plot.right(), y}, "roof");
  svg.Text({frame.plot.x + 8, text_y}, label, {.style = "roof-label"});
}

Frame FrameOf(const LineChart& chart) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  double top = chart.roof ? chart.roof->value : 0;
  for (const ChartLine& line : chart.lines) {
    for (const LineSegment& segment : line.segments) {
      low = std::min(low, segment.begin);
      high = std::max(high, segment.end);
      top = std::max(top, segment.value);
    }
  }
  for (const LineMark& mark : chart.marks) {
    top = std::max(top, mark.segment.value);
  }
  const Box plot = PlotBox(kPlotHeight);
  const auto linear = Scale::Kind::kLinear;
  return {.plot = plot,
          .x = {linear, low, high, plot.x, plot.right()},
          .y = {linear, 0, top > 0 ? top * kHeadroom : 1, plot.bottom(), plot.y}};
}

std::string StepPath(const ChartLine& line, const Frame& frame) {
  std::string path;
  double last_end = std::numeric_limits<double>::quiet_NaN();
  for (const LineSegment& segment : line.segments) {
    const double y = frame.y(segment.value);
    AppendPoint(segment.begin == last_end ? 'L' : 'M', {frame.x(segment.begin), y}, path);
    AppendPoint('L', {frame.x(segment.end), y}, path);
    last_end = segment.end;
  }
  return path;
}

// A label near the right border would leave the picture: it goes to the left of its mark.
void DrawMark(const LineChart& chart, const LineMark& mark, const Frame& frame, SvgWriter& svg) {
  const Point at{.x = frame.x((mark.segment.begin + mark.segment.end) / 2),
                 .y = frame.y(mark.segment.value)};
  const std::string tip =
      fmt::format("{}\n{}", mark.label, QuantityText(mark.segment.value, chart.y_quantity));
  svg.Path(MarkerPath(mark.line, at, kMarkRadius),
           {.style = "dot " + chart.lines[mark.line].series.style, .tip = tip});
  const bool is_right = at.x > frame.plot.x + 0.8 * frame.plot.width;
  svg.Text({is_right ? at.x - 9 : at.x + 9, at.y - 5}, mark.label,
           {.style = "label", .anchor = is_right ? Anchor::kEnd : Anchor::kStart});
}

constexpr double kScatterHeight = 320;
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

// The room between points and frame; an axis of positive numbers does not begin below 0.
Scale LinearScale(double low, double high, double first, double last) {
  constexpr double kRoom = 0.07;  // enough for the text of a line at the top
  const double room = high > low ? kRoom * (high - low) : std::max(kRoom * std::abs(high), 1e-9);
  const double begin = low >= 0 ? std::max(0.0, low - room) : low - room;
  return {Scale::Kind::kLinear, begin, high + room, first, last};
}

Scale ScaleOf(Scale::Kind kind, double low, double high, double first, double last) {
  return kind == Scale::Kind::kLog ? Scale{kind, low / kMargin, high * kMargin, first, last}
                                   : LinearScale(low, high, first, last);
}

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
  const Box plot = PlotBox(kScatterHeight);
  return {.plot = plot,
          .x = ScaleOf(chart.x_kind, x_low, x_high, plot.x, plot.right()),
          .y = ScaleOf(chart.y_kind, y_low, y_high, plot.bottom(), plot.y)};
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
  if (!cluster.first.tip.empty()) {
    return cluster.first.tip + about;
  }
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

void DrawStaircase(const ScatterChart& chart, const Frame& frame, SvgWriter& svg) {
  std::string path;
  double y = 0;
  for (const Point& point : chart.staircase) {
    const double x = frame.x(point.x);
    if (!path.empty()) {
      AppendPoint('L', {x, y}, path);
    }
    y = frame.y(point.y);
    AppendPoint(path.empty() ? 'M' : 'L', {x, y}, path);
  }
  if (!path.empty()) {
    svg.Path(path, {.style = "staircase"});
  }
}

// Labels go below their point, where other points are rare if less is better; near the lower border
// above it.
void DrawLabels(const ScatterChart& chart, const Frame& frame, SvgWriter& svg) {
  constexpr double kBelow = 20;
  for (const ScatterPoint& point : chart.points) {
    if (point.label.empty()) {
      continue;
    }
    const Point at{.x = frame.x(point.x), .y = frame.y(point.y)};
    const bool is_low = at.y + kBelow > frame.plot.bottom() - 4;
    const bool is_right = at.x > frame.plot.x + 0.8 * frame.plot.width;
    svg.Text({is_right ? at.x + 6 : at.x - 6, is_low ? at.y - kLargestMark : at.y + kBelow},
             point.label,
             {.style = "mark-label", .anchor = is_right ? Anchor::kEnd : Anchor::kStart});
  }
}

// A text that would run into the one before, or out of the frame, goes under its line.
void DrawLines(const ScatterChart& chart, const Frame& frame, SvgWriter& svg) {
  std::vector<ScatterLine> lines = chart.lines;
  std::ranges::stable_sort(lines, std::greater{}, &ScatterLine::y);
  double last_text = frame.plot.y;
  for (const ScatterLine& line : lines) {
    const double y = frame.y(line.y);
    const double text = y - 6 - last_text >= 12 ? y - 6 : std::max(y + 15, last_text + 15);
    last_text = text;
    DrawLevel(frame, y, text,
              fmt::format("{}, {}", line.label, QuantityText(line.y, chart.y_quantity)), svg);
  }
}

}  // namespace

std::string RenderLineChart(const LineChart& chart) {
  if (std::ranges::all_of(chart.lines, &std::vector<LineSegment>::empty, &ChartLine::segments)) {
    return {};
  }
  const Frame frame = FrameOf(chart);
  SvgWriter svg(kChartWidth, frame.plot.bottom() + kAxisHeight + kTitleHeight, chart.description);
  DrawVerticalAxis({.scale = frame.y, .quantity = chart.y_quantity, .title = chart.y_title},
                   frame.plot, svg);
  DrawHorizontalAxis({.scale = frame.x, .quantity = chart.x_quantity, .title = chart.x_title},
                     frame.plot, svg);
  for (const ChartLine& line : chart.lines) {
    svg.Path(StepPath(line, frame), {.style = "line " + line.series.style});
  }
  if (chart.roof) {
    const double y = frame.y(chart.roof->value);
    DrawLevel(
        frame, y, y - 6,
        fmt::format("{}, {}", chart.roof->label, QuantityText(chart.roof->value, chart.y_quantity)),
        svg);
  }
  for (const LineMark& mark : chart.marks) {
    DrawMark(chart, mark, frame, svg);
  }
  return svg.Finish();
}

std::vector<Series> LineLegend(const LineChart& chart) {
  std::vector<Series> entries;
  for (const ChartLine& line : chart.lines) {
    entries.push_back(line.series);
  }
  return entries;
}

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
  DrawStaircase(chart, frame, svg);
  DrawClusters(chart, BoundedClusters(chart, frame), svg);
  DrawLines(chart, frame, svg);
  DrawLabels(chart, frame, svg);
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
