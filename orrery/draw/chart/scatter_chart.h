#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "orrery/draw/chart/series.h"
#include "orrery/draw/chart/ticks.h"

namespace orrery::draw {

struct ScatterPoint {
  double x = 0;  // above zero, as y: the axes are logarithmic
  double y = 0;
  std::size_t series = 0;
};

/// A level line across the plot: a limit to compare with.
struct ScatterLine {
  std::string label;
  double y = 0;
};

struct ScatterChart {
  std::vector<Series> series = {};
  std::vector<ScatterPoint> points = {};
  std::vector<ScatterLine> lines = {};
  Quantity x_quantity = Quantity::kNumber;
  Quantity y_quantity = Quantity::kNumber;
  std::string x_title;
  std::string y_title;
  std::string description;
};

/// Draws points on two logarithmic axes, each series with a shape of its own. Points of one series
/// that would cover each other become one larger mark, so there are at most a few thousand.
[[nodiscard]] std::string RenderScatter(const ScatterChart& chart);

/// Returns the legend of a scatter chart, with the shapes.
[[nodiscard]] std::vector<Series> ScatterLegend(const ScatterChart& chart);

}  // namespace orrery::draw
