#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

/// A value that holds from `begin` to `end`.
struct LineSegment {
  double begin = 0;
  double end = 0;
  double value = 0;
};

/// One line: segments in order; between segments that do not touch there is a gap.
struct ChartLine {
  Series series = {};
  std::vector<LineSegment> segments = {};
};

/// A segment to point at.
struct LineMark {
  std::size_t line = 0;
  LineSegment segment;
  std::string label;
};

/// A level to compare with.
struct LineRoof {
  std::string label;
  double value = 0;
};

struct LineChart {
  std::vector<ChartLine> lines = {};
  std::vector<LineMark> marks = {};
  std::optional<LineRoof> roof = {};
  Quantity x_quantity = Quantity::kNumber;
  Quantity y_quantity = Quantity::kNumber;
  std::string x_title = {};
  std::string y_title = {};
  std::string description = {};
};

/// Draws values over x as steps, from zero up: each segment is level, so that nothing is drawn that
/// was not measured. Without segments there is no picture.
[[nodiscard]] std::string RenderLineChart(const LineChart& chart);

/// Returns the legend of its lines.
[[nodiscard]] std::vector<Series> LineLegend(const LineChart& chart);

}  // namespace orrery::draw
