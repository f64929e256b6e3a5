#include "orrery/draw/chart/line_chart.h"

#include <algorithm>
#include <limits>

#include <fmt/core.h>

#include "orrery/draw/chart/axis.h"
#include "orrery/draw/chart/chart_size.h"
#include "orrery/draw/chart/marker.h"
#include "orrery/draw/chart/svg_writer.h"

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

bool HasStretches(const LineChart& chart) {
  return std::ranges::any_of(chart.lines,
                             [](const ChartLine& line) { return !line.segments.empty(); });
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
  const Box plot{.x = kLabelWidth,
                 .y = 30,
                 .width = kChartWidth - kLabelWidth - kRightMargin,
                 .height = kPlotHeight};
  const auto linear = Scale::Kind::kLinear;
  return {.plot = plot,
          .x = {linear, low, high, plot.x, plot.right()},
          .y = {linear, 0, top > 0 ? top * kHeadroom : 1, plot.bottom(), plot.y}};
}

void AppendPoint(char command, double x, double y, std::string& path) {
  path += command;
  AppendCoordinate(x, path);
  path += ' ';
  AppendCoordinate(y, path);
}

std::string StepPath(const ChartLine& line, const Frame& frame) {
  std::string path;
  double last_end = std::numeric_limits<double>::quiet_NaN();
  for (const LineSegment& segment : line.segments) {
    const double y = frame.y(segment.value);
    AppendPoint(segment.begin == last_end ? 'L' : 'M', frame.x(segment.begin), y, path);
    AppendPoint('L', frame.x(segment.end), y, path);
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

void DrawRoof(const LineChart& chart, const Frame& frame, SvgWriter& svg) {
  if (!chart.roof) {
    return;
  }
  const double y = frame.y(chart.roof->value);
  svg.Line({frame.plot.x, y}, {frame.plot.right(), y}, "roof");
  svg.Text(
      {frame.plot.x + 8, y - 6},
      fmt::format("{}, {}", chart.roof->label, QuantityText(chart.roof->value, chart.y_quantity)),
      {.style = "roof-label"});
}

}  // namespace

std::string RenderLineChart(const LineChart& chart) {
  if (!HasStretches(chart)) {
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
  DrawRoof(chart, frame, svg);
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

}  // namespace orrery::draw
