#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <vector>

#include "orrery/draw/chart/canvas.h"
#include "orrery/draw/chart/charts.h"
#include "orrery/draw/format.h"

namespace orrery::draw {
namespace {

constexpr double kPlotHeight = 320;
constexpr double kEndMargin = 64;   // right of the last axis, for half of its title
constexpr double kTitleLine = 18;   // height of a line of titles
constexpr double kLetterWidth = 7;  // of a title
constexpr double kWidestPitch = 7;  // between lines that have the same value
constexpr double kSlotShare = 0.7;  // of the room of a name that lines may take
constexpr double kBandWidth = 8;
constexpr int kMaxTicks = 7;

struct Frame {
  Box plot;
  double pitch = 0;             // from axis to axis
  std::size_t title_lines = 1;  // over which titles are dealt, so that neighbours have room

  [[nodiscard]] double XOf(std::size_t axis) const {
    return plot.x + pitch * static_cast<double>(axis);
  }
};

Frame FrameOf(const ParallelChart& chart) {
  Frame frame;
  const double left = LabelWidthFor(chart.axes.front().names);
  const auto gaps = static_cast<double>(chart.axes.size() - 1);
  frame.pitch = (kChartWidth - left - kEndMargin) / gaps;
  std::size_t longest = 0;
  for (const ParallelAxis& axis : chart.axes) {
    longest = std::max(longest, axis.title.size());
  }
  frame.title_lines = static_cast<double>(longest) * kLetterWidth > frame.pitch ? 2 : 1;
  frame.plot = {.x = left,
                .y = kTitleLine * static_cast<double>(frame.title_lines) + 14,
                .width = kChartWidth - left - kEndMargin,
                .height = kPlotHeight};
  return frame;
}

// The points at which each line crosses an axis, and the labels of the axis.
struct Crossings {
  std::vector<double> y_of_line;
  std::vector<Box> bands;  // of names
  Axis axis;               // of numbers
};

double SlotHeight(const ParallelAxis& axis, const Box& plot) {
  return plot.height / static_cast<double>(axis.names.size());
}

double MiddleOf(const ParallelAxis& axis, const Box& plot, std::size_t name) {
  return plot.bottom() - (static_cast<double>(name) + 0.5) * SlotHeight(axis, plot);
}

Crossings OfNames(const ParallelChart& chart, std::size_t column, const Frame& frame) {
  const ParallelAxis& axis = chart.axes[column];
  std::vector<std::vector<std::size_t>> lines_of_name(axis.names.size());
  for (std::size_t line = 0; line < chart.lines.size(); ++line) {
    lines_of_name[static_cast<std::size_t>(chart.lines[line].values[column])].push_back(line);
  }
  Crossings crossings{
      .y_of_line = std::vector<double>(chart.lines.size()), .bands = {}, .axis = {}};
  for (std::size_t name = 0; name < lines_of_name.size(); ++name) {
    const auto gaps = static_cast<double>(std::max<std::size_t>(lines_of_name[name].size(), 1) - 1);
    const double room = std::min(kSlotShare * SlotHeight(axis, frame.plot), gaps * kWidestPitch);
    const double bottom = MiddleOf(axis, frame.plot, name) + room / 2;
    for (std::size_t i = 0; i < lines_of_name[name].size(); ++i) {
      crossings.y_of_line[lines_of_name[name][i]] =
          bottom - (gaps > 0 ? room * static_cast<double>(i) / gaps : 0);
    }
    crossings.bands.push_back({.x = frame.XOf(column) - kBandWidth / 2,
                               .y = bottom - room - kBandWidth / 2,
                               .width = kBandWidth,
                               .height = room + kBandWidth});
  }
  return crossings;
}

Crossings OfNumbers(const ParallelChart& chart, std::size_t column, const Frame& frame) {
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  for (const ParallelLine& line : chart.lines) {
    low = std::min(low, line.values[column]);
    high = std::max(high, line.values[column]);
  }
  Crossings crossings{.y_of_line = {},
                      .bands = {},
                      .axis = {.scale = {.low = low,
                                         .high = high,
                                         .first = frame.plot.bottom() - 8,
                                         .last = frame.plot.y + 8},
                               .quantity = chart.axes[column].quantity,
                               .max_ticks = kMaxTicks}};
  for (const ParallelLine& line : chart.lines) {
    crossings.y_of_line.push_back(crossings.axis.scale(line.values[column]));
  }
  return crossings;
}

// Leaves and reaches axes at a right angle, so that lines can be followed through them.
std::string CurveOf(std::size_t line, const std::vector<Crossings>& axes, const Frame& frame) {
  std::string path;
  AppendPoint('M', {frame.XOf(0), axes[0].y_of_line[line]}, path);
  for (std::size_t axis = 1; axis < axes.size(); ++axis) {
    const double middle = (frame.XOf(axis - 1) + frame.XOf(axis)) / 2;
    AppendPoint('C', {middle, axes[axis - 1].y_of_line[line]}, path);
    AppendPoint(' ', {middle, axes[axis].y_of_line[line]}, path);
    AppendPoint(' ', {frame.XOf(axis), axes[axis].y_of_line[line]}, path);
  }
  return path;
}

void DrawTitle(const ParallelChart& chart, std::size_t axis, const Frame& frame, SvgWriter& svg) {
  const auto room =
      static_cast<std::size_t>(frame.pitch * static_cast<double>(frame.title_lines) / kLetterWidth);
  const auto line = static_cast<double>(frame.title_lines - 1 - axis % frame.title_lines);
  svg.Text({frame.XOf(axis), frame.plot.y - 12 - line * kTitleLine},
           Truncated(chart.axes[axis].title, room),
           {.style = "mark-label", .anchor = Anchor::kMiddle});
}

void DrawValue(double x, double y, const std::string& text, SvgWriter& svg) {
  svg.Text({x - kBandWidth, y + 4}, text, {.style = "value-label", .anchor = Anchor::kEnd});
}

void DrawAxis(const ParallelChart& chart, std::size_t column, const Crossings& crossings,
              const Frame& frame, SvgWriter& svg) {
  const double x = frame.XOf(column);
  for (std::size_t name = 0; name < crossings.bands.size(); ++name) {
    DrawValue(x, MiddleOf(chart.axes[column], frame.plot, name), chart.axes[column].names[name],
              svg);
  }
  if (!crossings.bands.empty()) {
    return;
  }
  const std::vector<double> ticks = crossings.axis.Ticks();
  const std::vector<std::string> texts = TickTexts(ticks, crossings.axis.quantity);
  for (std::size_t i = 0; i < ticks.size(); ++i) {
    const double y = crossings.axis.scale(ticks[i]);
    svg.Line({x - 4, y}, {x + 4, y}, "whisker");
    DrawValue(x, y, texts[i], svg);
  }
}

}  // namespace

std::string RenderParallel(const ParallelChart& chart) {
  if (chart.lines.empty() || chart.axes.size() < 2) {
    return {};
  }
  const Frame frame = FrameOf(chart);
  SvgWriter svg(kChartWidth, frame.plot.bottom() + 10, chart.description);
  std::vector<Crossings> axes;
  for (std::size_t axis = 0; axis < chart.axes.size(); ++axis) {
    axes.push_back(chart.axes[axis].names.empty() ? OfNumbers(chart, axis, frame)
                                                  : OfNames(chart, axis, frame));
    svg.Line({frame.XOf(axis), frame.plot.y}, {frame.XOf(axis), frame.plot.bottom()}, "grid");
    for (const Box& band : axes.back().bands) {
      svg.Rect(band, {.style = "idle"});
    }
  }
  for (std::size_t line = chart.lines.size(); line-- > 0;) {
    const std::string emphasis = chart.lines[line].is_emphasized ? "line thick " : "line ";
    svg.Path(CurveOf(line, axes, frame),
             {.style = emphasis + chart.lines[line].style, .tip = chart.lines[line].tip});
  }
  for (std::size_t axis = 0; axis < chart.axes.size(); ++axis) {
    DrawAxis(chart, axis, axes[axis], frame, svg);
    DrawTitle(chart, axis, frame, svg);
  }
  return svg.Finish();
}

}  // namespace orrery::draw
