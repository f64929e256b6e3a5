#include "orrery/cli/memory/timeline_picture.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <utility>

#include <fmt/core.h>

#include "orrery/draw/chart/line_chart.h"
#include "orrery/draw/chart/stacked_bars.h"
#include "orrery/draw/number_format.h"

namespace orrery::cli {
namespace {

using memory::timeline::Axis;
using memory::timeline::Layer;
using memory::timeline::Timeline;

constexpr std::size_t kMostCategories = 7;
constexpr std::array<std::string_view, kMostCategories + 1> kStyles = {
    "compute", "transfer", "memory", "optimizer", "launch", "sky", "device-wait", "other"};

std::string AxisTitle(Axis axis) {
  switch (axis) {
    case Axis::kTime:
      return "time since the first allocation";
    case Axis::kEvent:
      return "allocations and frees";
    case Axis::kOperator:
      break;
  }
  return "operators";
}

draw::Quantity AxisQuantity(Axis axis) {
  return axis == Axis::kTime ? draw::Quantity::kNanoseconds : draw::Quantity::kNumber;
}

// Neighbours of equal value are one segment.
draw::ChartLine LineOf(const Timeline& timeline, Axis axis, Layer layer) {
  draw::ChartLine line{.series = {.name = std::string(LayerName(layer)),
                                  .style = std::string(kStyles[static_cast<std::size_t>(layer)])}};
  std::size_t before = timeline.points.size();
  for (const std::size_t point : timeline.columns.points) {
    if (point == before) {
      continue;
    }
    before = point;
    const auto x = static_cast<double>(timeline.Position(point, axis));
    if (!line.segments.empty()) {
      line.segments.back().end = x;
    }
    line.segments.push_back({x, x, static_cast<double>(timeline.points[point].Of(layer))});
  }
  if (!line.segments.empty()) {
    line.segments.back().end =
        static_cast<double>(timeline.Position(timeline.points.size() - 1, axis));
  }
  return line;
}

/// The categories that have a colour of their own; the last one stands for all others.
std::vector<draw::Series> CategorySeries(const Timeline& timeline) {
  std::vector<draw::Series> series;
  for (const std::string& category : timeline.columns.names) {
    if (series.size() == kMostCategories) {
      series.push_back({.name = "other", .style = std::string(kStyles.back())});
      break;
    }
    series.push_back({.name = category, .style = std::string(kStyles[series.size()])});
  }
  return series;
}

// What the pointer shows over a column.
std::string MomentText(const Timeline& timeline, std::size_t point, Axis axis) {
  const std::int64_t position = timeline.Position(point, axis);
  switch (axis) {
    case Axis::kTime:
      return fmt::format("after {}", draw::FormatDuration({position}));
    case Axis::kEvent:
      return fmt::format("change {}", draw::FormatCount(position));
    case Axis::kOperator:
      break;
  }
  return fmt::format("operator {}", draw::FormatCount(position));
}

}  // namespace

report::Document::Picture LayerPicture(const Timeline& timeline, Axis axis,
                                       const std::string& title) {
  draw::LineChart chart{.x_quantity = AxisQuantity(axis),
                        .y_quantity = draw::Quantity::kBinaryBytes,
                        .x_title = AxisTitle(axis),
                        .description = fmt::format("Memory of {} over time", title)};
  for (std::size_t layer = 0; layer < memory::timeline::kNumLayers; ++layer) {
    if (timeline.has_layer[layer]) {
      chart.lines.push_back(LineOf(timeline, axis, static_cast<Layer>(layer)));
      if (static_cast<Layer>(layer) == timeline.main_layer && timeline.peak.bytes > 0) {
        const auto x = static_cast<double>(timeline.Position(timeline.peak.point, axis));
        chart.marks.push_back(
            {.line = chart.lines.size() - 1,
             .segment = {x, x, static_cast<double>(timeline.peak.bytes)},
             .label = fmt::format("peak {}", draw::FormatBinaryBytes({timeline.peak.bytes}))});
      }
    }
  }
  report::Document::Picture picture{
      .heading = fmt::format("Memory of {}", title),
      .svg = draw::RenderLineChart(chart),
      .caption = "Bytes in use; of many changes the highest are drawn."};
  for (const draw::ChartLine& line : chart.lines) {
    picture.legend.push_back(line.series);
  }
  return picture;
}

report::Document::Picture CategoryPicture(const Timeline& timeline, Axis axis,
                                          const std::string& title) {
  draw::StackedBars chart{.series = CategorySeries(timeline),
                          .bars = {},
                          .quantity = draw::Quantity::kBinaryBytes,
                          .description = fmt::format("Parts of the memory of {}", title),
                          .title_along = AxisTitle(axis),
                          .along_quantity = AxisQuantity(axis)};
  chart.along_end = timeline.points.empty()
                        ? 0
                        : static_cast<double>(timeline.Position(timeline.points.size() - 1, axis));
  for (std::size_t i = 0; i < timeline.columns.bytes.size(); ++i) {
    const std::vector<std::int64_t>& column = timeline.columns.bytes[i];
    draw::StackedBar bar{.label = MomentText(timeline, timeline.columns.points[i], axis)};
    bar.values.resize(chart.series.size(), 0);
    for (std::size_t category = 0; category < column.size(); ++category) {
      bar.values[std::min(category, kMostCategories)] +=
          static_cast<double>(std::max<std::int64_t>(column[category], 0));
    }
    chart.bars.push_back(std::move(bar));
  }
  return {.heading = fmt::format("Who holds the memory of {}", title),
          .svg = chart.bars.empty() ? "" : draw::RenderStackedColumns(chart),
          .caption = "Bytes in use; each column shows its highest moment.",
          .legend = chart.series};
}

}  // namespace orrery::cli
